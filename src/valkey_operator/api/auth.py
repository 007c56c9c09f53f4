"""Who may connect and what they may do. Never holds a password, only where to find one."""

from typing import Annotated, ClassVar

from valkey_operator.api.fields import Model, Rule, doc, map_list
from valkey_operator.api.references import NameRef, SecretKeyRef
from valkey_operator.api.rules import at_most_one


class Password(Model, frozen=True, kw_only=True):
    """The password of the user `default`."""

    secret: Annotated[SecretKeyRef | None, doc("Where the password is. Its key is password unless said otherwise.")] = (
        None
    )


class AclUser(Model, frozen=True, kw_only=True):
    """A user of Valkey."""

    name: Annotated[str, doc("Name of the user.", minLength=1, maxLength=128, pattern=r"^[^\s\x00-\x1f]+$")]
    password_secret: Annotated[
        SecretKeyRef | None, doc("Where the user's password is. Without it, nobody can log in as this user.")
    ] = None
    permissions: Annotated[
        str | None,
        doc(
            "Rules in Valkey's ACL syntax, such as '+@read ~app:*'. The operator adds 'on', the password, and '&*' "
            "unless channels are named. Built in: none, so the user may do nothing.",
            maxLength=4096,
            pattern=r"^[^\n\r\x00]*$",
        ),
    ] = None


class Acl(Model, frozen=True, kw_only=True):
    """Users and their permissions, from one source."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        at_most_one("policyRef", "configSecretRef", given={"users": "has(self.users) && size(self.users) > 0"}),
    )

    enabled: Annotated[bool | None, doc("Use these users. Built in: true where a source of users is given.")] = None
    users: Annotated[list[AclUser] | None, map_list("The users, listed here.", "name", at_most=128)] = None
    policy_ref: Annotated[NameRef | None, doc("A ValkeyClusterAcl of this namespace, whose users are used.")] = None
    config_secret_ref: Annotated[
        SecretKeyRef | None,
        doc("A Secret that holds users in the form of Valkey's ACL file. Its key is acl.conf unless said otherwise."),
    ] = None


class Auth(Model, frozen=True, kw_only=True):
    """Authentication."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        at_most_one("secretRef", given={"password": "has(self.password) && has(self.password.secret)"}),
        Rule(
            rule=(
                "!has(self.disabled) || !self.disabled || !(has(self.secretRef) || (has(self.password) && "
                "has(self.password.secret)) || (has(self.acl) && has(self.acl.enabled) && self.acl.enabled))"
            ),
            message="disabled is true, yet passwords or users are given: remove them, or set disabled to false",
            field=".disabled",
        ),
    )

    disabled: Annotated[
        bool | None,
        doc(
            "Let anybody who reaches the port do anything. Built in: false, so a password is generated if none "
            "is given."
        ),
    ] = None
    password: Annotated[
        Password | None,
        doc("The password of the user default. Built in: generated, in the Secret <name>-auth."),
    ] = None
    secret_ref: Annotated[SecretKeyRef | None, doc("Short for password.secret.")] = None
    acl: Annotated[Acl | None, doc("Users with their own passwords and permissions.")] = None
