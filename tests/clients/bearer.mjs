// Loaded ahead of a Node program that knows no tokens: each of its HTTP requests carries that of BEARER_TOKEN.

import { subscribe } from "node:diagnostics_channel";

const bearer = `Bearer ${process.env.BEARER_TOKEN}`;
subscribe("undici:request:create", ({ request }) => request.addHeader("authorization", bearer)); // fetch, too
subscribe("http.client.request.created", ({ request }) => request.setHeader("authorization", bearer));
