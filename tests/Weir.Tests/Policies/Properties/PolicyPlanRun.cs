using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies.Properties;

/// <summary>One run of a plan on a clock that moves by itself, with the books that say what every item did.</summary>
internal sealed class PolicyPlanRun(PolicyPlan plan) : IDisposable
{
    /// <summary>What a fallback gives for an item, so that nobody mistakes it for the item's own result.</summary>
    private const int FallbackBase = -1_000_000;

    private readonly CancellationTokenSource _stop = new();
    private readonly TaskCompletionSource _longOver = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly ConcurrentDictionary<int, int> _insideKey = new();

    public ManualTimeProvider Clock { get; } = new();

    public ConcurrencyProbe Probe { get; } = new();

    /// <summary>How many attempts each item made.</summary>
    public int[] Attempts { get; } = new int[plan.Items.Length];

    /// <summary>How many attempts of each item gave a result.</summary>
    public int[] Successes { get; } = new int[plan.Items.Length];

    public ConcurrentQueue<int> Started { get; } = [];

    public ConcurrentQueue<int> Completed { get; } = [];

    public ConcurrentQueue<(int Index, Exception Error)> Hooked { get; } = [];

    public ConcurrentQueue<(int Index, int Attempt)> Retried { get; } = [];

    public ConcurrentQueue<int> FellBack { get; } = [];

    /// <summary>The most items of one key that were inside their calls at once.</summary>
    public int MostOfAKey { get; private set; }

    public List<int> Results { get; private set; } = [];

    public ItemOutcome<int, int>[]? Outcomes { get; private set; }

    public Exception? Error { get; private set; }

    public TestSource Source { get; } = TestSource.Of(plan.Kind, plan.Items.Length);

    public CancellationToken Token => _stop.Token;

    public bool WasCancelled => _stop.IsCancellationRequested;

    /// <summary>How many attempts the rate may have let in.</summary>
    public double MostAttempts { get; private set; } = double.PositiveInfinity;

    /// <summary>The item of a result, and whether its fallback gave it.</summary>
    public static (int Item, bool FellBack) ItemOf(int result) => result < 0 ? (result - FallbackBase, true) : (result, false);

    public void Dispose()
    {
        _longOver.TrySetResult();
        _stop.Dispose();
    }

    public async Task RunAsync()
    {
        bool over = false;
        Task driver = Task.Run(async () =>
        {
            while (!Volatile.Read(ref over))
            {
                if (Clock.ArmedTimers > 0)
                {
                    Clock.Advance(TimeSpan.FromMilliseconds(plan.StepMilliseconds));
                }

                await Task.Yield();
            }
        });
        Task running = plan.Family.IsStream() ? ConsumeAsync() : GatherAsync();
        try
        {
            await running.EndsAsync($"a run of: {plan}");
        }
        finally
        {
            Volatile.Write(ref over, true);
        }

        await driver.WithinAsync();
        Error = await Record.ExceptionAsync(() => running);
        if (plan.Options.RateLimit is { } rate)
        {
            MostAttempts = rate.BurstCapacity + (rate.TokensPerSecond * TimeSpan.FromTicks(Clock.GetTimestamp()).TotalSeconds);
        }

        // What was left behind ends now, which must change nothing any more.
        _longOver.TrySetResult();
    }

    private async Task GatherAsync()
    {
        if (plan.Family == OperatorFamily.Outcomes)
        {
            Outcomes = plan.Keys > 0
                ? await Source.Sequence!.PartitionBy(KeyOf, plan.MaxPerKey).SelectParallelOutcomesAsync(Select, Options(), Token)
                : await Source.OutcomesAsync(Select, Options(), Token);
            Results = [.. Outcomes.Where(static o => o.IsSuccess).Select(static o => o.Value)];
        }
        else if (plan.Keys == 0)
        {
            Results = await plan.Family.RunAsync(Source, Select, Options(), Token);
        }
        else if (plan.Family == OperatorFamily.List)
        {
            Results = await Source.Sequence!.PartitionBy(KeyOf, plan.MaxPerKey).SelectParallelAsync(Select, Options(), Token);
        }
        else
        {
            ConcurrentQueue<int> results = [];
            await Source.Sequence!.PartitionBy(KeyOf, plan.MaxPerKey).ForEachParallelAsync(
                async (item, token) => results.Enqueue(await Select(item, token)), Options(), Token);
            Results = [.. results];
        }
    }

    private async Task ConsumeAsync()
    {
        ParallelRunOptions options = Options();
        IAsyncEnumerable<int> stream = plan.Keys > 0
            ? Source.Sequence!.PartitionBy(KeyOf, plan.MaxPerKey).SelectParallelStreamAsync(
                Select, options with { OrderedOutput = plan.Family.IsOrdered() }, Token)
            : plan.Family.Open(Source, Select, options, Token);
        await foreach (int result in stream.ConfigureAwait(false))
        {
            Results.Add(result);
            if (Results.Count > plan.EndAt && plan.End == PolicyEnd.Break)
            {
                return;
            }

            if (Results.Count > plan.EndAt && plan.End == PolicyEnd.ConsumerThrows)
            {
                throw new TestException("consumer");
            }
        }
    }

    private int KeyOf(int item) => item % plan.Keys;

    private ParallelRunOptions Options()
    {
        ParallelRunOptions options = plan.Options with
        {
            TimeProvider = Clock,
            OnRetryAsync = (index, attempt, _) => Note(Retried, (index, attempt)),
            OnErrorAsync = async (index, error) =>
            {
                await Note(Hooked, (index, error));
                return plan.End != PolicyEnd.HookStops;
            },
            OnFallback = plan.FallsBack ? Fallback.OfAsync(FallBack) : null,
        };
        return plan.ItemHooks
            ? options with { OnStartItemAsync = index => Note(Started, index), OnCompleteItemAsync = index => Note(Completed, index) }
            : options;
    }

    private async ValueTask<int> FallBack(int index, Exception error)
    {
        await Note(FellBack, index);
        return index % 5 == 4 ? throw new TestException("fallback") : FallbackBase + index;
    }

    private static ValueTask Note<T>(ConcurrentQueue<T> notes, T note)
    {
        notes.Enqueue(note);
        return notes.Count % 3 == 0 ? Later() : default;

        static async ValueTask Later() => await Task.Yield();
    }

    private ValueTask<int> Select(int item, CancellationToken token)
    {
        int attempt = Interlocked.Increment(ref Attempts[item]);
        if (plan.End == PolicyEnd.Cancel && item == plan.EndAt)
        {
            _stop.Cancel();
        }

        AttemptKind[] kinds = plan.Items[item];
        AttemptKind kind = attempt <= kinds.Length ? kinds[attempt - 1] : AttemptKind.Succeeds;
        Enter(item);
        if (kind == AttemptKind.Succeeds)
        {
            Succeed(item);
            Leave(item);
            return new(item);
        }

        if (kind == AttemptKind.Throws)
        {
            Leave(item);
            throw new TestException($"item {item}");
        }

        return GoOnAsync(item, kind, token);
    }

    private async ValueTask<int> GoOnAsync(int item, AttemptKind kind, CancellationToken token)
    {
        try
        {
            switch (kind)
            {
                case AttemptKind.SucceedsInTime:
                    await Task.Delay(TimeSpan.FromMilliseconds(1 + (item % 9)), Clock, token);
                    break;
                case AttemptKind.ThrowsLater:
                    await Task.Yield();
                    throw new TestException($"item {item}");
                case AttemptKind.HangsUntilCancelled:
                    await Task.Delay(Timeout.InfiniteTimeSpan, Clock, token);
                    break;
                case AttemptKind.Hangs:
                    await _longOver.Task;
                    break;
                default:
                    await Task.Yield();
                    break;
            }

            Succeed(item);
            return item;
        }
        finally
        {
            Leave(item);
        }
    }

    private void Succeed(int item) => Interlocked.Increment(ref Successes[item]);

    private void Enter(int item)
    {
        _ = Probe.Enter();
        if (plan.Keys > 0)
        {
            int inside = _insideKey.AddOrUpdate(KeyOf(item), 1, static (_, n) => n + 1);
            lock (_insideKey)
            {
                MostOfAKey = Math.Max(MostOfAKey, inside);
            }
        }
    }

    private void Leave(int item)
    {
        if (plan.Keys > 0)
        {
            _insideKey.AddOrUpdate(KeyOf(item), 0, static (_, n) => n - 1);
        }

        new ConcurrencyProbe.Stay(Probe).Dispose();
    }
}
