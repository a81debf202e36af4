namespace Weir.Cli.Commands.Load.Arms;

/// <summary>The arms of a run with their runtimes, and the items that they share.</summary>
internal sealed class LoadArms : IAsyncDisposable
{
    private readonly List<IExecutionRuntime> _runtimes = [];
    private readonly List<LoadArm> _arms = [];

    private LoadArms()
    {
    }

    /// <summary>The arms in the order of the report.</summary>
    public IReadOnlyList<LoadArm> Arms => _arms;

    public static LoadArms Create(LoadSettings settings, LoadWork work, Func<RuntimeChoice, IExecutionRuntime> createRuntime)
    {
        LoadArms arms = new();
        ItemBatches batches = new(settings.Count, settings.BatchSize);
        ItemBatches? warmup = settings.Warmup > 0 ? new(settings.Warmup, Math.Min(settings.BatchSize, settings.Warmup)) : null;
        PassResult expected = ItemChecksum.Expected(work.Expect, settings.Count);

        TrialArm Arm(string name, Func<ItemBatches, CancellationToken, ValueTask<PassResult>> run, Func<long> itemsDone) => new(
            name, expected, token => run(batches, token))
        {
            WarmUp = warmup is null ? null : async token => await run(warmup, token),
            ItemsDone = itemsDone,
        };

        LoadWork Seen(WatchMeter? meter) => meter is null ? work : work with { Processor = meter.Around(work.Processor) };

        foreach (RuntimeChoice choice in settings.Choices)
        {
            IExecutionRuntime runtime = createRuntime(choice);
            arms._runtimes.Add(runtime);
            WatchMeter? meter = settings.Watch ? new() : null;
            RuntimeArm arm = new(runtime, Seen(meter), settings);
            arms._arms.Add(new LoadArm(Arm(choice.Name, arm.RunAsync, () => arm.ItemsDone), choice)
            {
                Decisions = () => arm.Decisions,
                Watched = meter is null ? null : new WatchedArm(choice.Name, choice.Size, meter),
            });
        }

        foreach (Peer peer in settings.Peers ? Peer.All : [])
        {
            WatchMeter? meter = settings.Watch ? new() : null;
            PeerArm arm = new(peer, Seen(meter), settings);
            arms._arms.Add(new LoadArm(Arm(peer.Name, arm.RunAsync, () => arm.ItemsDone), null)
            {
                Watched = meter is null ? null : new WatchedArm(peer.Name, peer.DegreeOf(settings.PeerDegree), meter),
            });
        }

        return arms;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IExecutionRuntime runtime in _runtimes)
        {
            await runtime.DisposeAsync();
        }
    }
}
