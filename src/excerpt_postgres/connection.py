"""A connection to a store. Only this module imports psycopg; it converts psycopg's errors to StoreUnusableError."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from excerpt.base.errors import ExcerptError, StoreUnusableError
from excerpt.base.installation import extra_hint
from excerpt_postgres.address import PostgresAddress

if TYPE_CHECKING:
    import numpy as np
    import psycopg
    from numpy.typing import NDArray

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[object]]

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_DEFAULT_OPTIONS = {
    "application_name": "excerpt",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""Default options of a connection; times are in seconds, `tcp_user_timeout` in milliseconds.

With them, a connection that is interrupted silently fails after 25 seconds instead of blocking without end.
"""


class KnownRows(Struct, frozen=True):
    """A statement and the rows that it returned before: what a read transaction expects of the database."""

    statement: Statement
    rows: list[Row]


class TransactionLostError(ExcerptError):
    """Raised if a read transaction cannot continue: the connection or the right to a table was lost, or rows changed.

    The whole transaction can be tried again.
    """

    title = StoreUnusableError.title
    exit_code = StoreUnusableError.exit_code


class StoreConnection:
    """A connection to a store that reconnects if it was lost. Used from one thread at a time.

    Statements are not prepared on the server, as a pooler between may pass them to another session. Prepared, a search
    of dendron takes 8.5 instead of 9.8 ms of the server's CPU time.
    """

    def __init__(self, address: PostgresAddress, *, writes: bool = False, timeout: float = 30.0) -> None:
        """Connect to `address`, for reading only unless it `writes`. Raises StoreUnusableError.

        `timeout` is the maximum time of a statement in seconds, 0 for no limit.
        """
        self._address = address
        self._writes = writes
        self._timeout = timeout
        self._session_statements: list[Statement] = []
        self._in_transaction = False
        self._has_read = False
        self.known: KnownRows | None = None
        """What is known of the state that all reads of the read transaction see; None outside of one."""
        self._has_to_check = False
        self._connection = self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def set_session(self, *statements: Statement) -> None:
        """Execute these statements now, and again on each new connection."""
        self._session_statements = list(statements)
        self.execute_all(statements)

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Execute a statement and return all its rows; `values` are its parameters."""
        return self.execute_all([(sql, values)])[0]

    def execute_all(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Execute several statements in one round trip, and return the rows of each.

        After a lost connection, a reader sends the statements again. But in a transaction that has already read
        something, it raises TransactionLostError, both for a lost connection and for a table that can no longer be
        read. So does the first read of a transaction if what is known of its state is no longer true.
        """
        with self._translate_errors():
            begins: list[Statement] = [(_BEGIN, ())] if self._in_transaction and not self._has_read else []
            checked = self.known if self._has_to_check else None
            if checked is not None:
                begins.append(checked.statement)
                self._has_to_check = False
            try:
                answers = self._send([*begins, *statements])
            except self._connection_errors as error:
                if self._writes or not self._connection.closed:
                    raise
                if self._has_read:
                    raise TransactionLostError(f"The store {self._address.display_text} cannot be reached.") from error
                self._connection.close()
                self._connection = self._connect()
                if self._session_statements:
                    self._send(self._session_statements)
                answers = self._send([*begins, *statements])
            except self._access_errors as error:
                if not self._has_read and checked is None:
                    raise
                # Rights apply at once, but the transaction still sees the areas (folders with rights) of its beginning.
                raise TransactionLostError(
                    f"The store {self._address.display_text} does not allow that: {_error_text(error)}."
                ) from error
            if checked is not None and answers[1] != checked.rows:
                raise TransactionLostError(f"The store {self._address.display_text} has changed.")
            self._has_read = self._in_transaction
            return answers[len(begins) :]

    @contextmanager
    def read_transaction(self, known: KnownRows | None = None) -> Iterator[None]:
        """Return a context manager in which all reads see one snapshot of the database; it may be nested.

        Reads in it raise TransactionLostError if the connection is lost. The first one also checks `known`, if given;
        if there was none, the end of the context does. Its ROLLBACK is not waited for.
        """
        if self._in_transaction:
            yield
            return
        self._in_transaction, self.known, self._has_to_check = True, known, known is not None
        try:
            try:
                yield
            finally:
                if self._has_to_check:
                    self.execute_all(())
        finally:
            self._in_transaction = self._has_read = self._has_to_check = False
            self.known = None
            self._roll_back()

    def set_known(self, known: KnownRows) -> None:
        """Set what the read transaction, if there is one, has read of its state."""
        if self._in_transaction:
            self.known = known

    def _roll_back(self) -> None:
        """Send ROLLBACK, if a transaction is open without waiting for the answer."""
        connection = self._idle_connection
        with suppress(_psycopg().Error):
            if connection.info.transaction_status != _psycopg().pq.TransactionStatus.IDLE:
                connection.pgconn.send_query(b"ROLLBACK")
                connection.pgconn.flush()

    @property
    def _idle_connection(self) -> psycopg.Connection[Row]:
        """The connection, once the answer to its last ROLLBACK, which has long arrived, is read."""
        while self._connection.info.transaction_status == _psycopg().pq.TransactionStatus.ACTIVE:
            if self._connection.pgconn.get_result() is None:
                break
        return self._connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Return a context manager that commits all writes in it together, or none of them after an exception."""
        with self._translate_errors(), self._idle_connection.transaction():
            yield

    def copy(self, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[object]]) -> None:
        """Insert rows into a table by COPY; `columns` are the names and types of the columns."""
        names = ", ".join(name for name, _ in columns)
        statement = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        with self._translate_errors(), self._idle_connection.cursor() as cursor, cursor.copy(statement) as copy:
            kinds = [kind for _, kind in columns]
            copy.set_types(kinds)
            texts = [number for number, kind in enumerate(kinds) if kind == "text"]
            for row in rows:
                values = list(row)
                for number in texts:
                    values[number] = replace_unstorable(values[number])
                copy.write_row(values)

    def register_vectors(self) -> None:
        """Register the type halfvec with psycopg, so that `copy` accepts results of `to_halfvecs`.

        The database must have the extension pgvector.
        """
        from pgvector.psycopg import register_vector

        with self._translate_errors():
            register_vector(self._connection)

    def _send(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Execute statements on the open connection, and return the rows of each."""
        connection = self._idle_connection
        with connection.pipeline() if len(statements) > 1 else _no_pipeline():
            cursors = []
            for sql, values in statements:
                cursor = connection.cursor(binary=True)
                cursor.execute(sql, tuple(values) or None)
                cursors.append(cursor)
        return [cursor.fetchall() if cursor.description is not None else [] for cursor in cursors]

    def _connect(self) -> psycopg.Connection[Row]:
        driver = _psycopg()
        with self._translate_errors():
            options = driver.conninfo.conninfo_to_dict(self._address.conninfo)
            connection: psycopg.Connection[Row] = driver.connect(
                autocommit=True, prepare_threshold=None, **(_DEFAULT_OPTIONS | options)
            )
            connection.execute(f"SET statement_timeout = {int(self._timeout * 1000)}")
            if not self._writes:
                connection.execute("SET default_transaction_read_only = on")
            return connection

    @property
    def _connection_errors(self) -> type[Exception]:
        """The class of the exceptions that psycopg raises for a lost connection (and for some other errors)."""
        lost: type[Exception] = _psycopg().OperationalError
        return lost

    @property
    def _access_errors(self) -> tuple[type[Exception], ...]:
        """The classes of the exceptions that psycopg raises if a table is missing or must not be read."""
        errors = _psycopg().errors
        return errors.InsufficientPrivilege, errors.UndefinedTable

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        driver = _psycopg()
        address = self._address.display_text
        try:
            yield
        except driver.errors.QueryCanceled as error:
            raise StoreUnusableError(
                f"The store {address} took more than {self._timeout:g} seconds to answer.", "Try again later."
            ) from error
        except (driver.errors.InvalidSchemaName, driver.errors.UndefinedTable) as error:
            raise StoreUnusableError(
                f"There is no vault in {address}.", "Push a vault: `excerpt push VAULT --to ADDRESS`."
            ) from error
        except (
            driver.errors.UndefinedObject,
            driver.errors.DataCorrupted,
            driver.errors.IndexCorrupted,
            driver.errors.InternalError_,
        ) as error:
            raise StoreUnusableError(
                f"An index of the store {address} is damaged or missing: {_error_text(error)}.",
                "Run `excerpt push` to this store: it rebuilds what is missing.",
            ) from error
        except driver.errors.InsufficientPrivilege as error:
            raise StoreUnusableError(
                f"The store {address} does not allow that: {_error_text(error)}.",
                "Ask the store's administrator for permission.",
            ) from error
        except driver.OperationalError as error:
            raise StoreUnusableError(
                f"The store {address} cannot be reached: {_error_text(error)}.",
                "Check that the server is running. Put its password, if any, into ~/.pgpass or PGPASSWORD.",
            ) from error
        except driver.Error as error:
            raise StoreUnusableError(f"The store {address} cannot be used: {_error_text(error)}.") from error


def replace_unstorable(value: object) -> object:
    """Replace the characters of a text that PostgreSQL cannot store, NUL and lone surrogates; return other values.

    Each such character is replaced by one other, so that positions in the text stay valid.
    """
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def array_literal(values: Sequence[int | str]) -> str:
    """Return integers or tokens as an array literal of PostgreSQL, ten times as fast as psycopg does for a list."""
    return f"{{{','.join(map(str, values))}}}"


def to_halfvecs(vectors: NDArray[np.float32]) -> list[object]:
    """Convert vectors to objects that `StoreConnection.copy` accepts for a column of type halfvec (16-bit floats)."""
    from pgvector import HalfVector

    return [HalfVector(vector) for vector in vectors]


@contextmanager
def _no_pipeline() -> Iterator[None]:
    yield


def _error_text(error: Exception) -> str:
    """Return the first line of an error's message (the last, if several connections were tried) without full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    return first.rsplit("FATAL:", 1)[-1].strip().rstrip(".")


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise StoreUnusableError(
            "A vault in a store needs the library psycopg, which is not installed.",
            extra_hint("postgres"),
        ) from None
    return psycopg
