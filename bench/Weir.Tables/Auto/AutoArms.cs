using Weir.Lab.Workloads;

namespace Weir.Tables.Auto;

/// <summary>The runtimes that one kind of work is measured on.</summary>
internal sealed class AutoArms : IAsyncDisposable
{
    public const string Auto = "auto";
    public const string Cold = "auto, first call";

    /// <summary>
    /// The concurrent runtime with as many items in flight as the auto runtime may have at the most. It is nobody's default, so it is shown but not part of the
    /// verdict.
    /// </summary>
    public const string Wide = "concurrent, wide";

    private readonly List<IExecutionRuntime> _runtimes = [];

    /// <summary>The runtime whose decisions in its last call are shown.</summary>
    private readonly AutoRuntime _auto = new();

    private IReadOnlyList<AutoDecision> _coldDecisions = [];

    private AutoArms()
    {
    }

    public List<TrialArm> Arms { get; } = [];

    /// <summary>What was decided in a first call, and in the last one.</summary>
    public (IReadOnlyList<AutoDecision> First, IReadOnlyList<AutoDecision> Last) Decisions => (_coldDecisions, _auto.LastDecisions);

    public static AutoArms Of(AutoWork work)
    {
        AutoArms arms = new();
        if (!work.Waits)
        {
            arms.Add(work, "direct", new DirectRuntime());
        }

        arms.Add(work, "parallel", new ParallelRuntime(Environment.ProcessorCount));
        arms.Add(work, "concurrent", new ConcurrentRuntime());
        arms.Add(work, Wide, new ConcurrentRuntime(arms._auto.MaxConcurrencyPerCall));
        arms.Add(work, Auto, arms._auto);
        arms.Arms.Add(ArmOf(work, Cold, async token =>
        {
            await using AutoRuntime auto = new();
            PassResult result = await PassAsync(work, auto, token);
            arms._coldDecisions = auto.LastDecisions;
            return result;
        }));
        return arms;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IExecutionRuntime runtime in _runtimes)
        {
            await runtime.DisposeAsync();
        }
    }

    private void Add(AutoWork work, string name, IExecutionRuntime runtime)
    {
        _runtimes.Add(runtime);
        Arms.Add(ArmOf(work, name, token => PassAsync(work, runtime, token)));
    }

    private static TrialArm ArmOf(AutoWork work, string name, Func<CancellationToken, ValueTask<PassResult>> pass) =>
        new(name, work.Expected, pass) { WarmUp = async token => await pass(token) };

    private static async ValueTask<PassResult> PassAsync(AutoWork work, IExecutionRuntime runtime, CancellationToken cancellationToken)
    {
        ItemOutcome<int, int>[] outcomes = await runtime.ProcessManyAsync(work.Items, work.Call, null, cancellationToken);
        long count = 0;
        long sum = 0;
        for (int i = 0; i < outcomes.Length; i++)
        {
            ref readonly ItemOutcome<int, int> outcome = ref outcomes[i];
            count += outcome.IsSuccess ? 1 : 0;
            sum = unchecked(sum + ItemChecksum.Part(outcome.ValueOrDefault, i));
        }

        return new PassResult(count, sum);
    }
}
