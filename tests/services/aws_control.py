"""AWS Data Exports (`bcm-data-exports`): what exports an account has, and what is in them.

A stand-in, because no emulator exists; signatures are not checked. STS is SeaweedFS's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.services import seaweedfs
from tests.services.web import Answer, Fake, Request, serving

ACCOUNT = "111122223333"


@dataclass
class Known:
    """The exports of the account by their ARN."""

    exports: dict[str, dict[str, Any]] = field(default_factory=dict)


class Control(Fake):
    """Running Data Exports; `known` and `then` say what they answer."""

    def __init__(self) -> None:
        super().__init__()
        self.endpoint = ""
        self.known = Known()

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client."""
        return {"AWS_ENDPOINT_URL_BCM_DATA_EXPORTS": self.endpoint}

    def forget(self) -> None:
        """Forget calls, answers and everything known."""
        super().forget()
        self.known = Known()

    @staticmethod
    def name_of(request: Request) -> str:
        """Return the operation that a request asks for."""
        return request.headers.get("x-amz-target", "").rpartition(".")[2]

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
            case "ListExports":
                return self._list(request)
            case "GetExport":
                return self._get(request)
        return problem(400, "UnknownOperationException", "unknown operation")

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
            return problem(404, "ResourceNotFoundException", "no such export")
        return Answer(body={"Export": export, "ExportStatus": {"StatusCode": "HEALTHY"}})


def problem(status: int, code: str, message: str) -> Answer:
    """Return an error as Data Exports writes it."""
    return Answer(status, {"__type": code, "message": message}, {"x-amzn-ErrorType": code})


@contextmanager
def running() -> Iterator[Control]:
    """Serve Data Exports."""
    control = Control()
    with serving(control.respond) as address:
        control.endpoint = f"http://{address}"
        yield control
