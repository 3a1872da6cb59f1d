"""Commands that no integration may have."""

HOSTILE = (
    "", "sh -c id", "/bin/sh -c id", "bash", "env sh", "sudo uvx mcp-server-time==1.0",
    "/home/uvx mcp-server-time==1.0", "./uvx x==1", "../uvx x==1", "curl http://x", "uvx",
    "uvx mcp-server-time", "uvx mcp-server-time@latest", "uvx mcp-server-time>=1",
    "uvx --from mcp-server-time x", "uvx --from git+https://x/y x", "uvx --from a==1 --with=b x",
    "uvx --with evil mcp-server-time==1.0", "uvx --index-url http://x a==1", "uvx -p evil a==1",
    "uvx https://x/y.whl", "uvx ./local", "uvx --from a==1 ../x", "uvx --python /tmp/py a==1",
    "npx", "npx -y mcp", "npx -y mcp@latest", "npx -y mcp@^1.0.0", "npx -c id", "npx --call id",
    "npx --call=id", "npx -y --package=x mcp", "npx -y --registry=http://x a@1.0.0",
    "npx -y git+ssh://x", "npx -y ../x@1.0.0", "npx --node-options=--require=x a@1.0.0",
    "docker ps", "docker run image", "docker run image:latest", "docker run -v /:/x image:1",
    "docker run --privileged image:1", "docker run --network=host image:1", "docker run -eA=b i:1",
    "docker run --entrypoint sh image:1", "docker run -e A=b image:1", "docker build .",
    "python3 -c print()", "python3 -", "python3", "python3 -Ic print()", "python3 -X dev x.py",
    "python3 -m -c", "node -e 1", "node --eval 1", "node --require x y.js", "node -p 1",
    "/data/servers/../evil", "/data/servers", "/data/serversevil/x", "/data/servers/1/sh",
)  # fmt: skip
