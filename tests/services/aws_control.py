"""The two AWS services beside S3 that a connector asks: STS and Data Exports (`bcm-data-exports`).

A stand-in for their answers only; requests come from boto3 and are not checked for signatures.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from tests.services import seaweedfs
from tests.services.web import Answer, Fake, Request, serving

ACCOUNT = "111122223333"
TOKEN = "planted-session-token"  # noqa: S105 - the tests' own server
_STS = "https://sts.example/doc/2011-06-15/"


@dataclass
class Known:
    """The account: its exports by ARN, roles that may be assumed, how long a session lasts."""

    exports: dict[str, dict[str, Any]] = field(default_factory=dict)
    roles: set[str] = field(default_factory=set)
    seconds: int = 3600


class Control(Fake):
    """A running STS and Data Exports; `known` and `then` say what they answer."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoint = ""
        self.known = Known()

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client."""
        return {
            "AWS_ENDPOINT_URL_STS": self.endpoint,
            "AWS_ENDPOINT_URL_BCM_DATA_EXPORTS": self.endpoint,
        }

    def forget(self) -> None:
        """Forget calls, answers and everything known."""
        super().forget()
        self.known = Known()

    @staticmethod
    def name_of(request: Request) -> str:
        """Return the operation that a request asks for."""
        if target := request.headers.get("X-Amz-Target"):
            return target.rpartition(".")[2]
        return parse_qs(request.body.decode()).get("Action", [""])[0]

    def asked(self, name: str) -> list[Request]:
        """Return the requests for one operation."""
        return [call for call in self.calls if self.name_of(call) == name]

    def add_export(
        self, name: str, query: str, table: dict[str, str], where: dict[str, Any]
    ) -> str:
        """Add an export; table: its TableConfigurations, where: its S3Destination."""
        arn = f"arn:aws:bcm-data-exports:{seaweedfs.REGION}:{ACCOUNT}:export/{name}"
        self.known.exports[arn] = {
            "ExportArn": arn,
            "Name": name,
            "DataQuery": {
                "QueryStatement": query,
                "TableConfigurations": {"COST_AND_USAGE_REPORT": table},
            },
            "DestinationConfigurations": {"S3Destination": where},
            "RefreshCadence": {"Frequency": "SYNCHRONOUS"},
        }
        return arn

    def answer(self, request: Request) -> Answer:
        """Answer as AWS would."""
        match self.name_of(request):
            case "AssumeRole":
                return self._assume(request)
            case "GetCallerIdentity":
                return _xml("GetCallerIdentity", f"<Account>{ACCOUNT}</Account>")
            case "ListExports":
                return self._list(request)
            case "GetExport":
                return self._get(request)
        return aws_problem(400, "UnknownOperationException", "unknown operation")

    def _assume(self, request: Request) -> Answer:
        role = parse_qs(request.body.decode())["RoleArn"][0]
        if role not in self.known.roles:
            return sts_problem(403, "AccessDenied", "not authorized to perform: sts:AssumeRole")
        until = datetime.now(UTC) + timedelta(seconds=self.known.seconds)
        cells = {
            "AccessKeyId": seaweedfs.KEY,
            "SecretAccessKey": seaweedfs.SECRET,
            "SessionToken": TOKEN,
            "Expiration": f"{until:%Y-%m-%dT%H:%M:%SZ}",
        }
        inside = "".join(f"<{name}>{value}</{name}>" for name, value in cells.items())
        return _xml("AssumeRole", f"<Credentials>{inside}</Credentials>")

    def _list(self, request: Request) -> Answer:
        start = int(request.json.get("NextToken") or 0)
        names = list(self.known.exports.items())
        status = {"StatusCode": "HEALTHY", "CreatedAt": 0, "LastUpdatedAt": 0}
        page: dict[str, Any] = {
            "Exports": [
                {"ExportArn": arn, "ExportName": export["Name"], "ExportStatus": status}
                for arn, export in names[start : start + 2]
            ]
        }
        if start + 2 < len(names):
            page["NextToken"] = str(start + 2)
        return Answer(body=page)

    def _get(self, request: Request) -> Answer:
        export = self.known.exports.get(request.json["ExportArn"])
        if export is None:
            return aws_problem(404, "ResourceNotFoundException", "no such export")
        return Answer(body={"Export": export, "ExportStatus": {"StatusCode": "HEALTHY"}})


def _xml(action: str, inside: str) -> Answer:
    text = (
        f'<{action}Response xmlns="{_STS}"><{action}Result>{inside}</{action}Result>'
        f"<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>"
    )
    return Answer(body=text.encode(), headers={"Content-Type": "text/xml"})


def aws_problem(status: int, code: str, message: str) -> Answer:
    """Return an error as Data Exports writes it."""
    return Answer(status, {"__type": code, "message": message}, {"x-amzn-ErrorType": code})


def sts_problem(status: int, code: str, message: str) -> Answer:
    """Return an error as STS writes it."""
    text = (
        f'<ErrorResponse xmlns="{_STS}"><Error><Type>Sender</Type><Code>{code}</Code>'
        f"<Message>{message}</Message></Error><RequestId>1</RequestId></ErrorResponse>"
    )
    return Answer(status, text.encode(), {"Content-Type": "text/xml"})


@contextmanager
def running() -> Iterator[Control]:
    """Serve STS and Data Exports."""
    control = Control()
    with serving(control.respond) as address:
        control.endpoint = f"http://{address}"
        yield control
