using Weir.Lab.Workers;

namespace Weir.Tables.Servers.Broker;

/// <summary>Measures the arms in turns: each once in each round, so that what disturbs the machine disturbs all of them.</summary>
internal sealed class BrokerRun(CliHost host)
{
    private const int ItemBytes = 100;
    private const int Batch = 256;

    // What Weir adds to the value of an item that is alone, and to 256 of them, so the bare client sends as many bytes.
    private const int SingleBytes = ItemBytes + 43;
    private const int BatchBytes = (ItemBytes + 2) * Batch;

    /// <summary>Measures.</summary>
    /// <param name="broker">The broker.</param>
    /// <param name="rounds">How often each arm runs, after one run that does not count.</param>
    /// <param name="messages">How many messages a run has; a fifth of them where each has 256 items.</param>
    /// <param name="millions">How many million items go through the queue while the memory is watched; 0 for none.</param>
    /// <param name="stop">Stops between two runs.</param>
    public async Task<BrokerFindings> RunAsync(Uri broker, int rounds, int messages, int millions, CancellationToken stop)
    {
        BrokerQueues queues = await BrokerQueues.CreateAsync(broker, stop).ConfigureAwait(false);
        await using (queues.ConfigureAwait(false))
        {
            BareQueue bare = new() { Broker = broker, Queue = queues.Single.Name, BodyBytes = SingleBytes };
            BareQueue classic = bare with { Queue = queues.Classic };
            BareQueue bareBatch = bare with { Queue = queues.Batched.Name, BodyBytes = BatchBytes };
            WeirQueue single = new(queues.Single, 1, ItemBytes);
            WeirQueue batched = new(queues.Batched, Batch, ItemBytes);
            int large = Math.Max(1, messages / 5);
            BrokerArm[] arms =
            [
                new(BrokerFindings.Bare, messages, 1, () => bare.RunAsync(messages)),
                new(BrokerFindings.Weir, messages, 1, () => single.RunAsync(messages)),
                new(BrokerFindings.BareBatch, large, Batch, () => bareBatch.RunAsync(large)),
                new(BrokerFindings.WeirBatch, large, Batch, () => batched.RunAsync((long)large * Batch)),
                new("without confirms", messages, 1, () => (bare with { Confirms = false }).RunAsync(messages)),
                new("without mandatory", messages, 1, () => (bare with { Mandatory = false }).RunAsync(messages)),
                new("without identities", messages, 1, () => (bare with { Identities = false }).RunAsync(messages)),
                new(BrokerFindings.Classic, messages, 1, () => classic.RunAsync(messages)),
                new("a classic queue, not persistent", messages, 1, () => (classic with { Persistent = false }).RunAsync(messages)),
            ];
            Dictionary<string, List<double>> rates = arms.ToDictionary(static a => a.Name, static _ => new List<double>());
            await RoundRunner.TakeTurnsAsync(
                arms.Length,
                round => round <= rounds,
                async (index, round) =>
                {
                    BrokerArm arm = arms[index];
                    TimeSpan time = await arm.RunAsync().ConfigureAwait(false);
                    if (round > 0)
                    {
                        rates[arm.Name].Add(arm.Messages / time.TotalSeconds);
                    }

                    return RoundEnd.Next;
                },
                stop,
                async round =>
                {
                    await host.Error.WriteLineAsync(FormattableString.Invariant($"round {round} of {rounds}")).ConfigureAwait(false);
                    return true;
                }).ConfigureAwait(false);
            stop.ThrowIfCancellationRequested();
            return new BrokerFindings(arms, rates, await WatchMemoryAsync(batched, millions).ConfigureAwait(false));
        }
    }

    private static async Task<IReadOnlyList<(long Items, double HeapMegabytes, double ProcessMegabytes)>> WatchMemoryAsync(WeirQueue queue, int millions)
    {
        List<(long, double, double)> seen = [];
        if (millions == 0)
        {
            return seen;
        }

        const long Million = 1_000_000;
        long next = Million;
        using Process process = Process.GetCurrentProcess();
        await queue.RunAsync(millions * Million, got =>
        {
            if (got >= next)
            {
                process.Refresh();
                seen.Add((next, GC.GetTotalMemory(forceFullCollection: true) / 1e6, process.WorkingSet64 / 1e6));
                next += Million;
            }
        }).ConfigureAwait(false);
        return seen;
    }
}
