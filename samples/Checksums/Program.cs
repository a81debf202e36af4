using System.Security.Cryptography;
using Weir;
using Weir.Runtimes;

int count = args.Length > 0 ? int.Parse(args[0]) : 200;
byte[][] buffers = [.. Enumerable.Range(0, count).Select(i => RandomNumberGenerator.GetBytes(100_000 + i))];

// The threads are the runtime's own, one per processor, and are kept from call to call.
await using IExecutionRuntime runtime = new ParallelRuntime();

for (int call = 1; call <= 3; call++)
{
    ItemOutcome<byte[], string>[] digests = await runtime.ProcessManyAsync(buffers, buffer => Convert.ToHexString(SHA256.HashData(buffer)));
    bool same = digests.Select(d => d.GetValueOrThrow()).SequenceEqual(buffers.Select(b => Convert.ToHexString(SHA256.HashData(b))));
    Console.WriteLine($"call {call}: {digests.Length} digests, {(same ? "the same as" : "not those")} of a plain loop");
}

// A buffer that takes too long is given up. The others are not held up.
ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(
    [1, 2, 3],
    (item, token) =>
    {
        while (item == 2)
        {
            token.ThrowIfCancellationRequested();
        }

        return new ValueTask<int>(item);
    },
    new ProcessManyOptions { PerItemTimeout = TimeSpan.FromMilliseconds(200) });
Console.WriteLine($"with a time limit: {string.Join(", ", outcomes.Select(o => o.Status))}");
