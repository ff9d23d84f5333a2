"""Tests of the addresses of vaults in a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.base.errors import StoreUnusableError
from excerpt.service.stores import is_address
from excerpt_postgres.address import parse_address


@pytest.mark.parametrize("address", ["postgresql://h/db", "postgres://h/db", str(Path("postgresql://h/db"))])
def test_an_address_is_distinguished_from_a_folder(address: str) -> None:
    assert is_address(address)
    assert parse_address(address).conninfo.startswith("postgresql://h/db")


@pytest.mark.parametrize("folder", ["notes", "/home/me/postgresql", "./postgresql:notes", "~/notes"])
def test_a_folder_is_not_an_address(folder: str) -> None:
    assert not is_address(folder)


def test_the_vault_follows_the_database_in_an_address() -> None:
    address = parse_address("postgresql://me@localhost/db?vault=our%20wiki&connect_timeout=3")
    assert address.vault == "our wiki"
    assert address.conninfo == "postgresql://me@localhost/db?connect_timeout=3"


@pytest.mark.parametrize(
    "address",
    ["postgresql://me:secret@h/db", "postgresql://me@h/db?password=secret", "postgresql://me@h/db?sslpassword=secret"],
)
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(StoreUnusableError) as caught:
        parse_address(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.3.2.1", "[::1]"])
def test_a_server_on_this_machine_needs_no_certificate(host: str) -> None:
    assert "sslmode" not in parse_address(f"postgresql://{host}/db").conninfo


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://db.example.org/db",
        "postgresql://localhost/db?host=db.example.org",
        "postgresql://localhost/db?hostaddr=192.0.2.7",
    ],
)
def test_the_certificate_of_a_server_on_another_host_is_verified(address: str) -> None:
    assert "sslmode=verify-full" in parse_address(address).conninfo


def test_certificate_options_in_the_address_are_kept() -> None:
    assert "sslmode=require" in parse_address("postgresql://db.example.org/db?sslmode=require").conninfo


@pytest.mark.parametrize("address", ["postgresql://h/a%0Ab", "postgresql://a%1Bb@h/db", "postgresql://h/db?vault=a%0D"])
def test_an_address_with_a_line_break_or_an_escape_is_refused(address: str) -> None:
    with pytest.raises(StoreUnusableError, match="cannot be shown"):
        parse_address(address)


def test_an_address_without_a_database_is_refused() -> None:
    with pytest.raises(StoreUnusableError, match="does not name a database"):
        parse_address("postgresql://localhost")


@pytest.mark.parametrize("address", ["postgresql:///wiki?vault=ours", str(Path("postgresql:///wiki?vault=ours"))])
def test_a_database_without_a_host_is_reached_by_its_socket(address: str) -> None:
    assert is_address(address)
    found = parse_address(address)
    assert (found.conninfo, found.vault) == ("postgresql:///wiki", "ours")
    assert found.display_text == "postgresql:///wiki?vault=ours"


def test_an_address_can_name_the_log_position_that_a_replica_must_have_reached() -> None:
    assert parse_address("postgresql:///wiki?vault=ours&after=0/16B3748").wait_position == "0/16B3748"
    with pytest.raises(StoreUnusableError, match="not a position"):
        parse_address("postgresql:///wiki?after=yesterday")
