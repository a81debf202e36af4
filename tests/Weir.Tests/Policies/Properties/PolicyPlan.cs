using Weir.Resilience;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Policies.Properties;

/// <summary>What one attempt of an item does.</summary>
internal enum AttemptKind
{
    Succeeds,
    SucceedsLater,

    /// <summary>Succeeds after some milliseconds of the clock.</summary>
    SucceedsInTime,
    Throws,
    ThrowsLater,

    /// <summary>Ends only when its token is cancelled.</summary>
    HangsUntilCancelled,

    /// <summary>Ignores its token, and ends when the run is long over.</summary>
    Hangs,
}

/// <summary>What ends a run before its end.</summary>
internal enum PolicyEnd
{
    None,
    Break,
    ConsumerThrows,
    Cancel,
    HookStops,
}

/// <summary>A run of an operator with policies, thought up by chance.</summary>
internal sealed record PolicyPlan
{
    private static readonly SourceKind[] Kinds = [SourceKind.Array, SourceKind.Lazy, SourceKind.Channel, SourceKind.AsyncSuspending];

    public required OperatorFamily Family { get; init; }

    public required SourceKind Kind { get; init; }

    public required PolicyEnd End { get; init; }

    /// <summary>The item or the number of results at which the early end comes.</summary>
    public required int EndAt { get; init; }

    /// <summary>Everything but the hooks and the clock.</summary>
    public required ParallelRunOptions Options { get; init; }

    public required bool ItemHooks { get; init; }

    /// <summary>Whether there is a fallback, which itself fails for one item in five.</summary>
    public required bool FallsBack { get; init; }

    /// <summary>How many keys there are; 0 for none.</summary>
    public required int Keys { get; init; }

    /// <summary>How many items of one key may run at once.</summary>
    public required int MaxPerKey { get; init; }

    /// <summary>By how much the clock moves each time.</summary>
    public required int StepMilliseconds { get; init; }

    /// <summary>What the attempts of each item do; those beyond succeed.</summary>
    public required AttemptKind[][] Items { get; init; }

    /// <summary>Whether a call may be left behind while it still runs.</summary>
    public bool LeavesBehind => Options.PerItemTimeout is not null || Options.AttemptTimeout is not null;

    public static PolicyPlan From(int seed)
    {
        Random random = new(seed);
        OperatorFamily family = Pick(random, Cases.Families);
        int keys = family is OperatorFamily.BatchList or OperatorFamily.BatchStream || random.Next(3) > 0 ? 0 : 1 + random.Next(4);
        PolicyEnd end = random.Next(2) == 0 ? PolicyEnd.None : Pick(random, Enum.GetValues<PolicyEnd>());
        if (end is PolicyEnd.Break or PolicyEnd.ConsumerThrows && !family.IsStream())
        {
            end = PolicyEnd.Cancel;
        }

        int count = random.Next(3) switch
        {
            0 => random.Next(5),
            1 => random.Next(25),
            _ => random.Next(120),
        };
        ParallelRunOptions options = SomeOptions(random, SomeRetries(random));
        bool limited = options.PerItemTimeout is not null || options.AttemptTimeout is not null;
        int failures = 5 * random.Next(12);
        int slow = 5 * random.Next(6);
        return new PolicyPlan
        {
            Family = family,
            Kind = keys > 0 ? Pick(random, [SourceKind.Array, SourceKind.Lazy]) : Pick(random, Kinds),
            End = end,
            EndAt = random.Next(Math.Max(1, count)),
            Options = options,
            ItemHooks = random.Next(3) == 0,
            FallsBack = family != OperatorFamily.ForEach && random.Next(3) == 0,
            Keys = keys,
            MaxPerKey = 1 + random.Next(2),
            StepMilliseconds = Pick(random, [1, 3, 10]),
            Items = [.. Enumerable.Range(0, count).Select(_ => SomeAttempts(random, failures, slow, limited))],
        };
    }

    /// <summary>Simpler plans, one of which may fail too.</summary>
    public static IEnumerable<PolicyPlan> Shrink(PolicyPlan plan)
    {
        int count = plan.Items.Length;
        foreach (int fewer in new[] { count / 2, count - 1 }.Where(n => n >= 0 && n < count))
        {
            yield return plan with { Items = plan.Items[..fewer], EndAt = Math.Min(plan.EndAt, Math.Max(0, fewer - 1)) };
        }

        if (plan.End != PolicyEnd.None)
        {
            yield return plan with { End = PolicyEnd.None };
        }

        foreach (ParallelRunOptions fewer in new[]
        {
            plan.Options with { CircuitBreaker = null },
            plan.Options with { RateLimit = null },
            plan.Options with { AdaptiveConcurrency = null },
            plan.Options with { MaxRetries = 0 },
        }.Where(fewer => fewer != plan.Options))
        {
            yield return plan with { Options = fewer };
        }

        if (plan.FallsBack || plan.ItemHooks || plan.Keys > 0)
        {
            yield return plan with { FallsBack = false, ItemHooks = false, Keys = 0 };
        }
    }

    public override string ToString() =>
        $"{Family} over {Kind}, {End} at {EndAt}, step {StepMilliseconds} ms{(ItemHooks ? ", item hooks" : "")}{(FallsBack ? ", fallback" : "")}, "
        + $"{Keys} keys, {MaxPerKey} at once; {Options}; {Items.Length} items: "
        + $"{string.Join(' ', Items.SelectMany(static a => a).GroupBy(static a => a).Select(static g => $"{g.Key} x{g.Count()}"))}";

    private static ParallelRunOptions SomeRetries(Random random) => new()
    {
        MaxDegreeOfParallelism = random.Next(5) == 0 ? 100 : 1 + random.Next(6),
        ChannelCapacity = 1 + random.Next(20),
        ErrorMode = Pick(random, Enum.GetValues<ErrorMode>()),
        Retry = new()
        {
            MaxRetries = random.Next(4),
            BaseDelay = TimeSpan.FromMilliseconds(Pick(random, [0, 0.3, 1, 20])),
            MaxDelay = TimeSpan.FromMilliseconds(50),
            BackoffStrategy = Pick(random, Enum.GetValues<BackoffStrategy>()),
            IsTransient = random.Next(4) switch
            {
                0 => null,
                1 => static e => e is TestException,
                _ => static e => Transient.IsTransient(e) || e is TestException,
            },
        },
    };

    private static ParallelRunOptions SomeOptions(Random random, ParallelRunOptions retries) => retries with
    {
        PerItemTimeout = random.Next(3) == 0 ? TimeSpan.FromMilliseconds(5 + random.Next(200)) : null,
        AttemptTimeout = random.Next(3) == 0 ? TimeSpan.FromMilliseconds(2 + random.Next(40)) : null,
        CircuitBreaker = random.Next(2) == 0 ? null : SomeBreaker(random),
        OpenCircuitMode = Pick(random, Enum.GetValues<OpenCircuitMode>()),
        RateLimit = random.Next(3) > 0 ? null : new RateLimitOptions { TokensPerSecond = 1_000, BurstCapacity = 1 + random.Next(10) },
        AdaptiveConcurrency = random.Next(4) > 0 ? null : new AdaptiveConcurrencyOptions
        {
            MaxConcurrency = 1 + random.Next(20),
            InitialConcurrency = 1,
            SampleInterval = TimeSpan.FromMilliseconds(5),
            IncreaseStrategy = Pick(random, Enum.GetValues<AdaptiveConcurrencyStrategy>()),
        },
    };

    private static CircuitBreakerOptions SomeBreaker(Random random)
    {
        CircuitBreakerOptions breaker = new()
        {
            FailureThreshold = 1 + random.Next(5),
            SuccessThreshold = 1 + random.Next(3),
            OpenTimeout = TimeSpan.FromMilliseconds(1 + random.Next(60)),
        };
        return random.Next(3) == 0
            ? breaker with { SamplingDuration = TimeSpan.FromMilliseconds(100), FailureRatio = 0.3, MinimumThroughput = 3 }
            : breaker;
    }

    private static AttemptKind[] SomeAttempts(Random random, int failures, int slow, bool limited)
    {
        List<AttemptKind> attempts = [];
        while (attempts.Count < 6 && random.Next(100) < failures)
        {
            attempts.Add(limited && random.Next(3) == 0
                ? Pick(random, [AttemptKind.HangsUntilCancelled, AttemptKind.Hangs])
                : Pick(random, [AttemptKind.Throws, AttemptKind.ThrowsLater]));
        }

        attempts.Add(random.Next(100) < slow ? Pick(random, [AttemptKind.SucceedsLater, AttemptKind.SucceedsInTime]) : AttemptKind.Succeeds);
        return [.. attempts];
    }

    private static T Pick<T>(Random random, IReadOnlyList<T> from) => from[random.Next(from.Count)];
}
