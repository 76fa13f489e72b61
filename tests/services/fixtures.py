"""The services as fixtures: each starts when the first test asks for it, once a session."""

from collections.abc import Iterator

import pytest

from tests.services import arm as arm_service
from tests.services import aws_control as aws_control_service
from tests.services import azurite as azurite_service
from tests.services import bigquery_emulator
from tests.services import bigquery_rest as bigquery_rest_service
from tests.services import gcs as gcs_service
from tests.services import seaweedfs as seaweedfs_service
from tests.services.arm import Arm
from tests.services.aws_control import Control
from tests.services.azurite import Blobs
from tests.services.bigquery_emulator import BigQuery
from tests.services.bigquery_rest import BigQueryRest
from tests.services.gcs import Gcs
from tests.services.seaweedfs import S3
from tests.services.web import vouched


@pytest.fixture(scope="session")
def seaweedfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """A real S3 and STS."""
    with seaweedfs_service.running(tmp_path_factory.mktemp("seaweedfs")) as s3:
        yield s3


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blobs]:
    """A real blob service."""
    with azurite_service.running(tmp_path_factory.mktemp("azurite")) as blobs:
        yield blobs


@pytest.fixture(scope="session")
def bqemulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigQuery]:
    """BigQuery over REST and gRPC, for the truth of an answer."""
    with bigquery_emulator.running(tmp_path_factory.mktemp("bqemulator")) as emulator:
        yield emulator


@pytest.fixture(scope="session")
def _arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm]:
    with arm_service.running(*vouched(tmp_path_factory.mktemp("arm"))) as arm:
        yield arm


@pytest.fixture
def arm(_arm: Arm) -> Iterator[Arm]:
    """Azure's Resource Manager over TLS, with nothing in it at the start of each test."""
    yield _arm
    _arm.forget()


@pytest.fixture(scope="session")
def _aws_control() -> Iterator[Control]:
    with aws_control_service.running() as control:
        yield control


@pytest.fixture
def aws_control(_aws_control: Control) -> Iterator[Control]:
    """AWS Data Exports, with nothing in them at the start of each test."""
    yield _aws_control
    _aws_control.forget()


@pytest.fixture(scope="session")
def _bigquery_rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BigQueryRest]:
    folder = tmp_path_factory.mktemp("bigquery")
    with bigquery_rest_service.running(folder, vouched(folder)[1]) as fake:
        yield fake


@pytest.fixture
def bigquery_rest(_bigquery_rest: BigQueryRest) -> Iterator[BigQueryRest]:
    """BigQuery's REST API with dry runs and a cap, without a table at the start of each test."""
    yield _bigquery_rest
    _bigquery_rest.forget()


@pytest.fixture(scope="session")
def _gcs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gcs]:
    folder = tmp_path_factory.mktemp("gcs")
    with gcs_service.running(folder, vouched(folder)[1]) as fake:
        yield fake


@pytest.fixture
def gcs(_gcs: Gcs) -> Iterator[Gcs]:
    """Cloud Storage, without a bucket at the start of each test."""
    yield _gcs
    _gcs.forget()
