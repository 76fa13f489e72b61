"""No secret leaves the process: neither into the lake, nor to a screen, nor into a log.

The demo's month comes from servers that want credentials, each of its kind; all are planted.
"""

import base64
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, quote

import pytest

from connectors import retry
from tests.conftest import ROOT
from tests.services import arm as arm_service
from tests.services import azurite as azurite_service
from tests.services import google
from tests.services.arm import Arm
from tests.services.azurite import Blobs
from tests.services.gcs import Gcs
from tests.services.places import BROKEN_KEY, CONTAINER
from tests.services.seaweedfs import REGION, ROLE, S3, SECRET
from tests.small_month import said
from tests.test_clouds import FIXTURES, MONTH, SHOP, Located, in_the_cloud, written

LAB = "exports/azure-lab/costs"
LAB_SUBSCRIPTION = "/subscriptions/1ab00000-0000-4000-8000-000000000009"
OWN = ("connectors", "fixtures", "pipelines", "transforms")
WRONG = base64.b64encode(b"planted key that opens nothing").decode()
CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"

Environment = dict[str, str]


def signature(blobs: Blobs) -> str:
    """Return a signature that lets its bearer read the account."""
    from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

    return generate_account_sas(
        azurite_service.ACCOUNT,
        azurite_service.KEY,
        ResourceTypes(container=True, object=True),
        AccountSasPermissions(read=True, list=True),
        datetime.now(UTC) + timedelta(hours=1),
    )


def session(s3: S3) -> Environment:
    """Return the credentials of a session: key, secret and token."""
    import boto3

    sts = boto3.client(
        "sts",
        endpoint_url=s3.endpoint,
        region_name=REGION,
        aws_access_key_id=s3.env["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=SECRET,
    )
    given = sts.assume_role(RoleArn=ROLE, RoleSessionName="tests")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }


@pytest.fixture
def environment(
    seaweedfs: S3,
    azurite: Blobs,
    gcs: Gcs,
    arm: Arm,
    tmp_path: Path,
) -> Environment:
    """Credentials for every server; the storage account's is a signature."""
    bundle = tmp_path / "authorities.pem"
    bundle.write_bytes(gcs.ca.read_bytes() + arm.ca.read_bytes())
    connection = f"BlobEndpoint={azurite.endpoint};SharedAccessSignature={signature(azurite)}"
    known = seaweedfs.env | session(seaweedfs) | gcs.env | arm.env
    return known | {CONNECTION: connection, "REQUESTS_CA_BUNDLE": str(bundle)}


@pytest.fixture
def located(seaweedfs: S3, azurite: Blobs, gcs: Gcs, arm: Arm) -> Located:
    """The demo's exports on servers that want credentials, one as a Cost Details report."""
    for upload, provider in ((seaweedfs.upload, "aws"), (azurite.upload, "azure")):
        for folder in sorted((FIXTURES / "exports").glob(f"{provider}-*")):
            upload(folder, CONTAINER, f"exports/{folder.name}")
    gcs.upload(FIXTURES / SHOP, CONTAINER, SHOP)
    reports = sorted((FIXTURES / LAB).rglob("*.csv"))
    names = [path.relative_to(FIXTURES).as_posix() for path in reports]
    arm.known.polls = 0
    arm.known.reports = [
        f"{azurite.endpoint}/{CONTAINER}/{quote(name)}?{signature(azurite)}" for name in names
    ]
    servers = {
        "exports/aws": seaweedfs.endpoint,
        "exports/azure": azurite.endpoint,
        SHOP: gcs.secure_endpoint,
    }
    elsewhere = in_the_cloud(servers)
    report = (LAB_SUBSCRIPTION, arm.endpoint)
    return lambda location: report if location == LAB else elsewhere(location)


def planted(environment: Environment, gcs: Gcs, arm: Arm) -> set[str]:
    """Return everything that must not be seen, as it may be written."""
    given = {environment[name] for name in session_names()} | {SECRET, WRONG}
    given |= {azurite_service.KEY, google.TOKEN, BROKEN_KEY, arm_service.TOKEN}
    given |= {arm_service.IDENTITY, gcs.private_key.splitlines()[5]}
    signed = [link.partition("?")[2] for link in arm.known.reports or []]
    signed.append(environment[CONNECTION].partition("SharedAccessSignature=")[2])
    given |= {value for query in signed for value in parse_qs(query).get("sig", [])}
    return given | {quote(secret, safe="") for secret in given}


def session_names() -> tuple[str, ...]:
    return ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


def denied(gcs: Gcs, blobs: Blobs) -> Environment:
    """Return what opens nothing."""
    return {
        "AWS_SECRET_ACCESS_KEY": WRONG,
        "GOOGLE_APPLICATION_CREDENTIALS": gcs.account_with(BROKEN_KEY),
        CONNECTION: blobs.connection_string.replace(azurite_service.KEY, WRONG),
    }


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what our own code logged, and what others tell of more than details."""
    own = tuple(str(ROOT / name) for name in OWN)
    return [
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.levelno >= logging.INFO or record.pathname.startswith(own)
    ]


def test_no_secret_is_written_or_told(  # noqa: PLR0917
    environment: Environment,
    located: Located,
    gcs: Gcs,
    arm: Arm,
    azurite: Blobs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(retry, "_wait", lambda *_: 0.0)
    secrets = planted(environment, gcs, arm)
    lake, config = tmp_path / "lake", written(tmp_path, located)
    told: list[str] = []

    def tell(command: str, expected: Callable[[int], bool]) -> None:
        done = said(capsys, command, MONTH, "--json", "--config", config, "--lake", lake)
        assert expected(done.code), done.err
        told.extend([done.out, done.err])

    with caplog.at_level(logging.DEBUG):
        for given, command, codes in (
            (environment, "fetch", {0}),
            ({}, "run", {0, 1}),
            (azurite.env, "check", {0, 1}),
            (denied(gcs, azurite), "check", {3}),
            ({}, "fetch", {3}),
        ):
            for name, value in given.items():
                monkeypatch.setenv(name, value)
            tell(command, codes.__contains__)
    seen = [text.encode() for text in (*told, *logged(caplog))]
    files = {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()}
    assert list(lake.glob("runs/*.json"))
    assert {path.name for path in files} >= {"receipt.json", "cost-details.csv"}
    for secret in secrets:
        assert len(secret) > 10
        assert not any(secret.encode() in text for text in seen)
        assert [path for path, text in files.items() if secret.encode() in text] == []
