using Weir.Cli.Load.Peers;
using Weir.Cli.Load.Work;
using Weir.Lab.Trials;
using Weir.Runtimes;

namespace Weir.Cli.Load.Arms;

/// <summary>The arms of a run with what they need: the runtimes, and the items that all of them share.</summary>
internal sealed class LoadArms : IAsyncDisposable
{
    private readonly List<IExecutionRuntime> _runtimes = [];
    private readonly List<LoadArm> _arms = [];

    private LoadArms()
    {
    }

    /// <summary>The arms in the order of the report.</summary>
    public IReadOnlyList<LoadArm> Arms => _arms;

    public static LoadArms Create(LoadKnobs knobs, LoadWork work, Func<RuntimeChoice, IExecutionRuntime> createRuntime)
    {
        LoadArms arms = new();
        ItemBatches batches = new(knobs.Count, knobs.BatchSize);
        ItemBatches? warmup = knobs.Warmup > 0 ? new(knobs.Warmup, Math.Min(knobs.BatchSize, knobs.Warmup)) : null;
        PassResult expected = Checksum.Expected(work, knobs.Count);

        Arm Arm(string name, Func<ItemBatches, CancellationToken, ValueTask<PassResult>> run, Func<long> itemsDone) => new(
            name, expected, token => run(batches, token))
        {
            WarmUp = warmup is null ? null : async token => await run(warmup, token).ConfigureAwait(false),
            ItemsDone = itemsDone,
        };

        foreach (RuntimeChoice choice in knobs.Choices)
        {
            IExecutionRuntime runtime = createRuntime(choice);
            arms._runtimes.Add(runtime);
            RuntimeArm arm = new(runtime, work, knobs);
            arms._arms.Add(new LoadArm(Arm(choice.Name, arm.RunAsync, () => arm.ItemsDone), choice) { Decisions = () => arm.Decisions });
        }

        foreach (Peer peer in knobs.Peers ? Peer.All : [])
        {
            PeerArm arm = new(peer, work, knobs);
            arms._arms.Add(new LoadArm(Arm(peer.Name, arm.RunAsync, () => arm.ItemsDone), null));
        }

        return arms;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IExecutionRuntime runtime in _runtimes)
        {
            await runtime.DisposeAsync().ConfigureAwait(false);
        }
    }
}
