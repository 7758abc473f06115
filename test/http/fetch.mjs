// Node's fetch against a server. Usage: node fetch.mjs URL TRIES. Prints a line
// NAME, tab, RESULT for each check, as peer client does.

const [base, tries] = [process.argv[2], Number(process.argv[3])];

async function report(name, check) {
	let result;
	try {
		result = await check();
	} catch (err) {
		result = `! ${err.message}: ${err.cause?.message ?? ""}`;
	}
	console.log(`node: ${name}\t${result.replaceAll("\n", " ")}`);
}

// send returns the status and the body of an answer.
async function send(path, init) {
	const response = await fetch(base + path, init);
	return [response.status, await response.text()];
}

for (const target of ["/echo/a[1]", "/echo/a|b", "/echo/a^b", "/echo/a%2Fb?x=[]|^"]) {
	await report(`GET ${target}`, async () => {
		const { pathname, search } = new URL(base + target); // which characters it encodes is up to the version
		const [status, got] = await send(target);
		return status === 200 && got === pathname + search ? "200 unchanged" : `! ${status} ${got}`;
	});
}

// chunked makes a body of n bytes whose length fetch does not know.
function chunked(n) {
	let left = n;
	const body = new ReadableStream({
		pull(controller) {
			const size = Math.min(left, 65536);
			left -= size;
			if (size > 0) controller.enqueue(new Uint8Array(size));
			else controller.close();
		},
	});
	return { method: "POST", body, duplex: "half" };
}
const sized = (n) => ({ method: "POST", body: new Uint8Array(n) });

const accepted = async () => JSON.parse((await send("/stats"))[1]).Accepted;

await report("requests on one connection", async () => {
	const before = await accepted();
	let requests = 0;
	for (let i = 0; i < 10; i++) {
		for (const [path, init, want] of [
			["/echo/x", {}, 200],
			["/upload", sized(100000), 200],
			["/upload", chunked(100000), 200],
			["/none", {}, 404],
		]) {
			const [status] = await send(path, init);
			if (status !== want) return `! ${init.method ?? "GET"} ${path}: ${status}`;
			requests++;
		}
	}
	const more = (await accepted()) - before;
	return more ? `! ${more} more connections for ${requests} requests` : `${requests} requests on 1 connection`;
});

for (const path of ["/upload", "/api/notes"]) {
	for (const [name, make] of [["too long", sized], ["too long, chunked", chunked]]) {
		await report(`${name}, ${path}`, async () => {
			let seen = 0, other = "";
			for (let i = 0; i < tries; i++) {
				try {
					const [status] = await send(path, make(6 << 20));
					if (status === 413) seen++;
					else other = `: ${status}`;
				} catch (err) {
					other = `: ${err.cause?.message ?? err.message}`;
				}
			}
			return seen === tries ? `413 in ${seen} of ${tries}` : `! 413 in ${seen} of ${tries}${other}`;
		});
	}
}
process.exit(0);
