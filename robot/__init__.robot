*** Settings ***
Documentation       The installed program, from outside only.
Test Timeout        15 minutes
