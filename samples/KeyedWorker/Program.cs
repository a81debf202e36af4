using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Threading.Channels;
using Weir;

int most = args.Length > 0 ? int.Parse(args[0]) : 1_000;
Channel<Change> queue = Channel.CreateBounded<Change>(100);

// Ctrl-C or SIGTERM: accept nothing more, finish what was accepted.
using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
using PosixSignalRegistration terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);

Task<int> accepting = AcceptAsync();
ConcurrentDictionary<int, int> last = new();
int applied = 0;
int outOfOrder = 0;

// The changes of one account are applied one after the other, in order; those of different accounts at the same time.
await queue.Reader.PartitionBy(change => change.Account).ForEachParallelAsync(
    ApplyAsync,
    new ParallelRunOptions
    {
        MaxDegreeOfParallelism = 16,

        // One change that fails does not stop the others, and is seen.
        ErrorMode = ErrorMode.BestEffort,
        Hooks = new()
        {
            OnErrorAsync = (index, error) =>
            {
                Console.Error.WriteLine($"Change {index} failed: {error.Message}");
                return ValueTask.FromResult(true);
            },
        },
    });

Console.WriteLine($"{await accepting} changes accepted, {applied} applied to {last.Count} accounts, {outOfOrder} out of order");
return outOfOrder == 0 ? 0 : 1;

async Task ApplyAsync(Change change, CancellationToken token)
{
    await Task.Delay(Random.Shared.Next(3), token);
    if (last.GetValueOrDefault(change.Account) != change.Version - 1)
    {
        Interlocked.Increment(ref outOfOrder);
    }

    last[change.Account] = change.Version;
    if (Interlocked.Increment(ref applied) == 100)
    {
        Console.WriteLine("100 changes applied");
    }
}

async Task<int> AcceptAsync()
{
    int accepted = 0;
    while (accepted < most && await queue.Writer.WaitToWriteAsync())
    {
        if (queue.Writer.TryWrite(new Change(Account: accepted % 20, Version: accepted / 20 + 1)))
        {
            accepted++;
        }
    }

    queue.Writer.TryComplete();
    return accepted;
}

void Stop(PosixSignalContext context)
{
    context.Cancel = true;
    queue.Writer.TryComplete();
}

internal sealed record Change(int Account, int Version);
