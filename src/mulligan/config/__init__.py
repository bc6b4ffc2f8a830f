"""The settings: what can be set, from where, and what it comes to."""

from mulligan.config.registry import MOST_PARALLEL as MOST_PARALLEL
from mulligan.config.registry import SETTINGS as SETTINGS
from mulligan.config.registry import SHORT_NAMES as SHORT_NAMES
from mulligan.config.registry import Cleanup as Cleanup
from mulligan.config.registry import Isolation as Isolation
from mulligan.config.registry import SandboxPlace as SandboxPlace
from mulligan.config.registry import ServerStart as ServerStart
from mulligan.config.registry import Setting as Setting
from mulligan.config.registry import check_value as check_value
from mulligan.config.registry import parse_value as parse_value
from mulligan.config.registry import setting_named as setting_named
from mulligan.config.settings import Entry as Entry
from mulligan.config.settings import Layer as Layer
from mulligan.config.settings import Settings as Settings
from mulligan.config.settings import Source as Source
from mulligan.config.settings import layer_of_environment as layer_of_environment
from mulligan.config.settings import layer_of_options as layer_of_options
from mulligan.config.settings import layer_of_values as layer_of_values
from mulligan.config.settings import resolve as resolve
