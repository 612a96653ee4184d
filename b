#! rnews 132
Path: x!y
From: a@b.example
Newsgroups: sci.astro
Subject: h
Message-ID: <q2@x.example>
Date: Sat, 28 Nov 2026 17:08:36 +0000

body
