"""A connection to a store. Only this module imports psycopg; it converts its errors to StoreUnusableError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from excerpt.errors import ExcerptError, StoreUnusableError
from excerpt.store.address import Address

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_USUAL = {
    "application_name": "excerpt",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""Default options of the connection, in seconds, the last in milliseconds.

A connection that drops silently is lost after 25 seconds instead of blocking without end.
"""


class IndexDamagedError(ExcerptError):
    """Raised if an index of the store is damaged or missing, but the rows are intact."""

    title = StoreUnusableError.title
    exit_code = StoreUnusableError.exit_code


class ConnectionLostError(ExcerptError):
    """Raised if the connection, or the right to a table, is lost in a transaction that has read something."""

    title = StoreUnusableError.title
    exit_code = StoreUnusableError.exit_code


class Connection:
    """A connection that reconnects, or raises an error with one sentence. Used from one thread at a time.

    Statements are not prepared on the server: prepared, a search by words would not use its index fully.
    """

    def __init__(self, address: Address, *, writes: bool = False, timeout: float = 30.0) -> None:
        """Connect. `timeout` is the limit of a statement in seconds, 0 for none. Raises StoreUnusableError."""
        self._address = address
        self._writes = writes
        self._timeout = timeout
        self._session: list[Statement] = []
        self._in_transaction = False
        self._has_read = False
        self._connection = self._connect()

    def close(self) -> None:
        self._connection.close()

    def set_session(self, *statements: Statement) -> None:
        """Execute these statements now, and again on each new connection."""
        self._session = list(statements)
        self.answers(statements)

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return all rows of a statement; empty if it returns none."""
        return self.answers([(sql, values)])[0]

    def answers(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Return the rows of several statements, sent at once.

        After a lost connection a reader sends them once more, except in a transaction that has read something: then it
        raises ConnectionLostError, and also if a table can no longer be read.
        """
        with self._translate_errors():
            begins = [(_BEGIN, ())] if self._in_transaction and not self._has_read else []
            try:
                answers = self._send([*begins, *statements])
            except self._connection_errors as error:
                if self._writes or not self._connection.closed:
                    raise
                if self._has_read:
                    raise ConnectionLostError(f"The store {self._address.shown} cannot be reached.") from error
                self._connection.close()
                self._connection = self._connect()
                if self._session:
                    self._send(self._session)
                answers = self._send([*begins, *statements])
            except self._access_errors as error:
                if not self._has_read:
                    raise
                # Rights are the current ones, but the transaction has read the areas of an earlier time.
                raise ConnectionLostError(
                    f"The store {self._address.shown} does not allow that: {_first_line(error)}."
                ) from error
            self._has_read = self._in_transaction
            return answers[len(begins) :]

    def attempt(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Return the rows, as `answers` does; after an IndexDamagedError a transaction can continue."""
        if not self._in_transaction:
            return self.answers(statements)
        try:
            return self.answers([("SAVEPOINT attempt", ()), *statements, ("RELEASE SAVEPOINT attempt", ())])[1:-1]
        except IndexDamagedError:
            self._has_read = True
            self.rows("ROLLBACK TO SAVEPOINT attempt")
            raise

    @contextmanager
    def read_transaction(self) -> Iterator[None]:
        """Read everything in a block from one snapshot; a nested block uses the same. Raises ConnectionLostError."""
        if self._in_transaction:
            yield
            return
        self._in_transaction = True
        try:
            yield
        finally:
            self._in_transaction = self._has_read = False
            with suppress(_psycopg().Error):
                self._connection.rollback()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything in a block as one, or not at all."""
        with self._translate_errors(), self._connection.transaction():
            yield

    def copy(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> None:
        """Copy rows into a table, whose columns are given with their types."""
        names = ", ".join(name for name, _ in columns)
        statement = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        with self._translate_errors(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([kind for _, kind in columns])
            for row in rows:
                copy.write_row([storable(value) for value in row])

    def register_vectors(self) -> None:
        """Register the vector type, so that `copy` accepts results of `as_vectors`.

        The database needs the extension.
        """
        from pgvector.psycopg import register_vector

        with self._translate_errors():
            register_vector(self._connection)

    def _send(self, statements: Sequence[Statement]) -> list[list[Row]]:
        with self._connection.pipeline() if len(statements) > 1 else _no_pipeline():
            cursors = []
            for sql, values in statements:
                cursor = self._connection.cursor(binary=True)
                cursor.execute(sql, tuple(values) or None)
                cursors.append(cursor)
        return [cursor.fetchall() if cursor.description is not None else [] for cursor in cursors]

    def _connect(self) -> psycopg.Connection[Row]:
        driver = _psycopg()
        with self._translate_errors():
            options = driver.conninfo.conninfo_to_dict(self._address.conninfo)
            connection: psycopg.Connection[Row] = driver.connect(
                autocommit=True, prepare_threshold=None, **(_USUAL | options)
            )
            connection.execute(f"SET statement_timeout = {int(self._timeout * 1000)}")
            if not self._writes:
                connection.execute("SET default_transaction_read_only = on")
            return connection

    @property
    def _connection_errors(self) -> type[Exception]:
        """The exception that psycopg raises if the connection is lost, and for other reasons."""
        lost: type[Exception] = _psycopg().OperationalError
        return lost

    @property
    def _access_errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that psycopg raises if a table is missing, or may not be read."""
        errors = _psycopg().errors
        return errors.InsufficientPrivilege, errors.UndefinedTable

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        driver = _psycopg()
        address = self._address.shown
        try:
            yield
        except driver.errors.QueryCanceled as error:
            raise StoreUnusableError(
                f"The store {address} took more than {self._timeout:g} seconds to answer."
            ) from error
        except (driver.errors.InvalidSchemaName, driver.errors.UndefinedTable) as error:
            raise StoreUnusableError(
                f"There is no vault in {address}.", "Push one: `excerpt push VAULT --to ADDRESS`."
            ) from error
        except (
            driver.errors.UndefinedObject,
            driver.errors.DataCorrupted,
            driver.errors.IndexCorrupted,
            driver.errors.InternalError_,
        ) as error:
            raise IndexDamagedError(
                f"An index of the store {address} is damaged or missing: {_first_line(error)}.",
                "Run `excerpt push` to this store: it rebuilds what is missing.",
            ) from error
        except driver.errors.InsufficientPrivilege as error:
            raise StoreUnusableError(
                f"The store {address} does not allow that: {_first_line(error)}.",
                "Ask the store's administrator for permission.",
            ) from error
        except driver.OperationalError as error:
            raise StoreUnusableError(
                f"The store {address} cannot be reached: {_first_line(error)}.",
                "Check that the server is running. A password belongs in ~/.pgpass or PGPASSWORD.",
            ) from error
        except driver.Error as error:
            raise StoreUnusableError(f"The store {address} cannot be used: {_first_line(error)}.") from error


def storable(value: object) -> object:
    """Return a value that PostgreSQL can store: a text without NUL and lone surrogates.

    Each is replaced by one character, so that spans stay valid.
    """
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd") if isinstance(value, str) else value


def as_vectors(vectors: NDArray[np.float32]) -> list[object]:
    """Return the vectors in the form that `Connection.copy` takes for a column of type halfvec."""
    from pgvector import HalfVector

    return [HalfVector(vector) for vector in vectors]


@contextmanager
def _no_pipeline() -> Iterator[None]:
    yield


def _first_line(error: Exception) -> str:
    """Return the first line of a server's message, or of its last attempt's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return first.rsplit("FATAL:", 1)[-1].strip().rstrip(".")


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise StoreUnusableError(
            "Stores need psycopg, which is not installed.", "Install it: `pip install 'excerpt[postgres]'`."
        ) from None
    return psycopg
