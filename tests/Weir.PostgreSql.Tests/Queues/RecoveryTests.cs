using System.Diagnostics;
using Weir.PostgreSql.Tests.Servers;
using Weir.Runtimes;

namespace Weir.PostgreSql.Tests.Queues;

/// <summary>How long a queue needs after the death of a worker with thousands of items, beside the same work without one.</summary>
public sealed class RecoveryTests(PostgresServer server, ITestOutputHelper output) : QueueTest(server)
{
    private const int Count = 3_000;
    private const int InFlight = 2_048;

    // A figure for docs/reference/postgresql.md, and no goal: it depends on the machine. That the items come in halves is what LeaseTests assert.
    [Fact(Timeout = Limit, Explicit = true)]
    public async Task WorkerDied_With2048ItemsInFlight_IsMadeUpFor()
    {
        TimeSpan without = await DoAllAsync(0);
        TimeSpan after = await DoAllAsync(InFlight);
        output.WriteLine($"{Count} items of 50 ms, 64 at once: {without.TotalSeconds:0.0} s; after a worker died with {InFlight}: {after.TotalSeconds:0.0} s");
    }

    private async Task<TimeSpan> DoAllAsync(int lost)
    {
        await using PostgresWorkQueue<string> queue = new(Source, $"lost {lost}", WorkSerializer.Text, Options);
        await queue.SetupAsync();
        await queue.EnqueueAsync(Values(Count));
        IWorkSource<string> dead = await queue.OpenSourceAsync();
        for (int taken = 0; taken < lost;)
        {
            taken += (await NextAsync(dead)).Items.Count;
        }

        await EndLeasesAsync();
        long began = Stopwatch.GetTimestamp();
        await using IWorkSource<string> source = await queue.OpenSourceAsync();
        await using ConcurrentRuntime runtime = new(64, new RuntimeOptions { TotalConcurrency = 64 });
        int done = 0;
        using CancellationTokenSource stop = new();
        WorkHost<string> host = new(
            source,
            runtime,
            async (_, token) =>
            {
                await Task.Delay(TimeSpan.FromMilliseconds(50), TimeProvider.System, token);
                if (Interlocked.Increment(ref done) == Count)
                {
                    await stop.CancelAsync();
                }
            },
            new WorkHostOptions<string> { DeadLetters = queue.DeadLetters, Serializer = WorkSerializer.Text });
        await host.RunAsync(stop.Token);
        TimeSpan time = Stopwatch.GetElapsedTime(began);
        await dead.DisposeAsync();
        return time;
    }
}
