using System.Globalization;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Weir.Resilience;
using Weir.Runtimes;
using Worker = Weir.Hosting.SettingReaders<Weir.Hosting.WeirWorkerOptions>;
using Circuit = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.CircuitBreakerOptions>>;
using Policy = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.ParallelRunOptions>>;
using Budgets = Weir.Hosting.SettingReaders<Weir.Hosting.BudgetSettings>;
using Retries = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.RetryOptions>>;
using Tokens = Weir.Hosting.SettingReaders<System.Runtime.CompilerServices.StrongBox<Weir.Resilience.RateLimitOptions>>;

namespace Weir.Hosting;

/// <summary>Checks the options of a worker when the host starts.</summary>
internal sealed class OptionsCheck(string worker, HostOptions host) : IValidateOptions<WeirWorkerOptions>
{
    /// <summary>The longest time that a timer of the platform takes.</summary>
    private static readonly TimeSpan Longest = TimeSpan.FromMilliseconds(uint.MaxValue - 1);

    public ValidateOptionsResult Validate(string? name, WeirWorkerOptions options)
    {
        if (name != worker)
        {
            return ValidateOptionsResult.Skip;
        }

        string[] problems =
        [
            .. new[]
            {
                In(Enum.IsDefined(options.Runtime), nameof(options.Runtime), "Concurrent, Parallel, Auto or Direct", options.Runtime),
                AtLeast(1, options.MaxConcurrency ?? 1, nameof(options.MaxConcurrency)),
                AtLeast(0, options.MaxRetries, nameof(options.MaxRetries)),
                In(
                    options.PerItemTimeout is not { } limit || (limit > TimeSpan.Zero && limit <= Longest),
                    nameof(options.PerItemTimeout),
                    "more than zero and at most 49 days",
                    options.PerItemTimeout),
                AtLeast(1, options.MaxAttempts, nameof(options.MaxAttempts)),
                In(
                    options.RedeliveryDelays is { Count: > 0 } delays && delays.All(static d => d >= TimeSpan.Zero && d <= Longest),
                    nameof(options.RedeliveryDelays),
                    "at least one time, none negative or longer than 49 days",
                    options.RedeliveryDelays is { } all ? string.Join(", ", all) : null),
                AtLeast(1, options.MaxItemsInFlight, nameof(options.MaxItemsInFlight)),
                AtLeast(1, options.MaxItemsPerCall, nameof(options.MaxItemsPerCall)),
                AtLeast(1, options.MaxConcurrentCalls ?? 1, nameof(options.MaxConcurrentCalls)),
                AtLeast(1, options.MaxCrashes, nameof(options.MaxCrashes)),
                In(Enum.IsDefined(options.Acknowledge), nameof(options.Acknowledge), "AfterProcessing or OnReceipt", options.Acknowledge),
                In(
                    options.GracePeriod is not { } grace || (grace >= TimeSpan.Zero && (grace < host.ShutdownTimeout || IsEndless(host))),
                    nameof(options.GracePeriod),
                    $"zero or more, and less than the host's ShutdownTimeout ({host.ShutdownTimeout:c})",
                    options.GracePeriod),
                In(options.MaxLag > TimeSpan.Zero, nameof(options.MaxLag), "more than zero", options.MaxLag),
                In(options.OperationName is not "", nameof(options.OperationName), "null or a text that is not empty", "''"),
                In(options.Tags?.All(static t => !string.IsNullOrEmpty(t.Key)) != false, nameof(options.Tags), "without an empty key", "one with such a key"),
            }.OfType<string>(),
            .. PolicyProblems(options),
        ];
        return problems.Length == 0 ? ValidateOptionsResult.Success : ValidateOptionsResult.Fail(problems);
    }

    /// <summary>The grace period of a worker: that of its options, or one that leaves time to return items within the limit of the host.</summary>
    public static TimeSpan GracePeriod(WeirWorkerOptions options, HostOptions host) =>
        options.GracePeriod ?? (IsEndless(host) ? Timeout.InfiniteTimeSpan : host.ShutdownTimeout * 0.75);

    private IEnumerable<string> PolicyProblems(WeirWorkerOptions options)
    {
        if (options.Policies is not { } policies)
        {
            yield break;
        }

        string section = $"{ConfiguredOptions.SectionOf(worker)}:{nameof(options.Policies)}";
        (string Path, Action Check)[] checks =
        [
            ($"{section}:{nameof(policies.CircuitBreaker)}", () => _ = policies.CircuitBreaker is { IsShared: false } own ? new CircuitBreaker(own) : null),
            ($"{section}:{nameof(policies.RateLimit)}", () => _ = policies.RateLimit is { IsShared: false } own ? new TokenBucket(own) : null),
            (section, () => WorkerRuntimes.OptionsOf(options, TimeProvider.System).Validate()),
        ];
        if (checks.Select(static c => ProblemOf(c.Path, c.Check)).FirstOrDefault(static p => p is not null) is { } problem)
        {
            yield return problem;
        }

        // The items of the runtime have an internal type of the host, which user code cannot name.
        foreach ((object? value, string property) in new (object?, string)[]
        {
            (policies.Hooks?.Items, $"{nameof(policies.Hooks)}:{nameof(RunHooks.Items)}"),
            (policies.ShouldRetry, nameof(policies.ShouldRetry)),
            (policies.OnFallback, nameof(policies.OnFallback)),
            (policies.BreakersByKey, nameof(policies.CircuitBreaker)),
            (policies.RatesByKey, nameof(policies.RateLimit)),
            (policies.Retry?.Budget as RetryBudgets, $"{nameof(policies.Retry)}:{nameof(RetryOptions.Budget)}"),
            (policies.ConcurrencyLimit as ConcurrencyLimits, nameof(policies.ConcurrencyLimit)),
        })
        {
            if (value is not null)
            {
                yield return $"{section}:{property} must be null: it depends on the type of the runtime's items, which are not those of the processor.";
            }
        }

        if (policies.MaxRetries > 0 && options.MaxRetries > 0)
        {
            yield return $"{section}:{nameof(policies.MaxRetries)} and {ConfiguredOptions.SectionOf(worker)}:{nameof(options.MaxRetries)} are both set; "
                + "set only one of them.";
        }
    }

    /// <summary>What is wrong with options of other packages, whose message names the property.</summary>
    public static string? ProblemOf(string path, Action check)
    {
        try
        {
            check();
            return null;
        }
        catch (ArgumentException e)
        {
            string message = e.Message.Split(" (Parameter", 2)[0];
            return e is ArgumentOutOfRangeException { ActualValue: { } value }
                ? string.Create(CultureInfo.InvariantCulture, $"{path}:{message.TrimEnd('.')}; it is {value}.")
                : $"{path}: {message}";
        }
    }

    private static bool IsEndless(HostOptions host) => host.ShutdownTimeout == Timeout.InfiniteTimeSpan;

    private string? AtLeast(int least, int value, string property) =>
        In(value >= least, property, string.Create(CultureInfo.InvariantCulture, $"at least {least}"), value);

    private string? In(bool isAllowed, string property, string allowed, object? value) =>
        OptionRange.Find(isAllowed, value, $"{ConfiguredOptions.SectionOf(worker)}:{property}", allowed);
}

/// <summary>
/// Reads the options of a worker from its section of the configuration. Not with a binder, which needs reflection or ignores misspelt keys, and whose
/// messages do not name the allowed values.
/// </summary>
internal sealed class ConfiguredOptions(string worker, IConfiguration? configuration) : IConfigureNamedOptions<WeirWorkerOptions>
{
    private static readonly Dictionary<string, Worker.Reader> Readers = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(WeirWorkerOptions.Runtime)] = Worker.Name<WorkerRuntime>(static (o, v) => o.Runtime = v),
        [nameof(WeirWorkerOptions.MaxConcurrency)] = Worker.Whole(static (o, v) => o.MaxConcurrency = v),
        [nameof(WeirWorkerOptions.KeepKeyOrder)] = Worker.YesOrNo(static (o, v) => o.KeepKeyOrder = v),
        [nameof(WeirWorkerOptions.MaxRetries)] = Worker.Whole(static (o, v) => o.MaxRetries = v),
        [nameof(WeirWorkerOptions.PerItemTimeout)] = Worker.Time(static (o, v) => o.PerItemTimeout = v),
        [nameof(WeirWorkerOptions.MaxAttempts)] = Worker.Whole(static (o, v) => o.MaxAttempts = v),
        [nameof(WeirWorkerOptions.RedeliveryDelays)] = ReadDelays,
        [nameof(WeirWorkerOptions.MaxItemsInFlight)] = Worker.Whole(static (o, v) => o.MaxItemsInFlight = v),
        [nameof(WeirWorkerOptions.MaxItemsPerCall)] = Worker.Whole(static (o, v) => o.MaxItemsPerCall = v),
        [nameof(WeirWorkerOptions.MaxConcurrentCalls)] = Worker.Whole(static (o, v) => o.MaxConcurrentCalls = v),
        [nameof(WeirWorkerOptions.MaxCrashes)] = Worker.Whole(static (o, v) => o.MaxCrashes = v),
        [nameof(WeirWorkerOptions.Acknowledge)] = Worker.Name<AcknowledgePoint>(static (o, v) => o.Acknowledge = v),
        [nameof(WeirWorkerOptions.GracePeriod)] = Worker.Time(static (o, v) => o.GracePeriod = v),
        [nameof(WeirWorkerOptions.SetupAtStart)] = Worker.YesOrNo(static (o, v) => o.SetupAtStart = v),
        [nameof(WeirWorkerOptions.StopAtEnd)] = Worker.YesOrNo(static (o, v) => o.StopAtEnd = v),
        [nameof(WeirWorkerOptions.AbortAtSecondSignal)] = Worker.YesOrNo(static (o, v) => o.AbortAtSecondSignal = v),
        [nameof(WeirWorkerOptions.MaxLag)] = Worker.Time(static (o, v) => o.MaxLag = v),
        [nameof(WeirWorkerOptions.OperationName)] = Worker.Text(static (o, v) => o.OperationName = v),
        [nameof(WeirWorkerOptions.Tags)] = Worker.Group(ReadTags),
        [nameof(WeirWorkerOptions.Policies)] = Worker.Group(ConfiguredPolicies.Read),
    };

    public static string SectionOf(string worker) => $"Weir:Workers:{worker}";

    public void Configure(WeirWorkerOptions options) => Configure(Microsoft.Extensions.Options.Options.DefaultName, options);

    public void Configure(string? name, WeirWorkerOptions options)
    {
        if (name != worker || configuration is null)
        {
            return;
        }

        if (Worker.ReadAll(options, configuration.GetSection(SectionOf(worker)), Readers, "a worker") is { } problem)
        {
            throw new OptionsValidationException(worker, typeof(WeirWorkerOptions), [problem]);
        }
    }

    private static string? ReadDelays(WeirWorkerOptions options, IConfigurationSection setting)
    {
        IEnumerable<string?> given = setting.Value is { } text
            ? text.Split(',', StringSplitOptions.TrimEntries)
            : setting.GetChildren().Select(static c => c.Value);
        string?[] texts = [.. given];
        var delays = new TimeSpan[texts.Length];
        for (int i = 0; i < texts.Length; i++)
        {
            if (!Worker.TryTime(texts[i], out delays[i]))
            {
                return $"{setting.Path} must be times such as 00:00:01 and 00:00:10; one is '{texts[i]}'.";
            }
        }

        options.RedeliveryDelays = delays;
        return null;
    }

    private static string? ReadTags(WeirWorkerOptions options, IConfigurationSection section)
    {
        // Tags from code stay, unless the configuration has the same key.
        Dictionary<string, object?> tags = new(StringComparer.Ordinal);
        foreach ((string key, object? value) in options.Tags ?? [])
        {
            tags[key] = value;
        }

        foreach (IConfigurationSection tag in section.GetChildren())
        {
            if (tag.Value is not { } value)
            {
                return $"{tag.Path} must be a text; it is a section.";
            }

            tags[tag.Key] = value;
        }

        options.Tags = [.. tags];
        return null;
    }
}

/// <summary>Reads the policies of a worker from its section of the configuration: those that text can express. The others stay as code has set them.</summary>
internal static class ConfiguredPolicies
{
    private static readonly Dictionary<string, Policy.Reader> Policies = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(ParallelRunOptions.MaxRetries)] = Policy.Whole(static (o, v) => o.Value = o.Value! with { MaxRetries = v }),
        [nameof(ParallelRunOptions.BaseDelay)] = Policy.Time(static (o, v) => o.Value = o.Value! with { BaseDelay = v }),
        [nameof(ParallelRunOptions.BackoffStrategy)] = Policy.Name<BackoffStrategy>(static (o, v) => o.Value = o.Value! with { BackoffStrategy = v }),
        [nameof(ParallelRunOptions.Retry)] = Policy.Group(ReadRetry),
        [nameof(ParallelRunOptions.AttemptTimeout)] = Policy.Time(static (o, v) => o.Value = o.Value! with { AttemptTimeout = v }),
        [nameof(ParallelRunOptions.OpenCircuitMode)] = Policy.Name<OpenCircuitMode>(static (o, v) => o.Value = o.Value! with { OpenCircuitMode = v }),
        [nameof(ParallelRunOptions.CircuitBreaker)] = Policy.Group(ReadBreaker),
        [nameof(ParallelRunOptions.RateLimit)] = Policy.Group(ReadRate),
    };

    private static readonly Dictionary<string, Retries.Reader> Retry = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RetryOptions.MaxRetries)] = Retries.Whole(static (o, v) => o.Value = o.Value! with { MaxRetries = v }),
        [nameof(RetryOptions.BaseDelay)] = Retries.Time(static (o, v) => o.Value = o.Value! with { BaseDelay = v }),
        [nameof(RetryOptions.MaxDelay)] = Retries.Time(static (o, v) => o.Value = o.Value! with { MaxDelay = v }),
        [nameof(RetryOptions.BackoffStrategy)] = Retries.Name<BackoffStrategy>(static (o, v) => o.Value = o.Value! with { BackoffStrategy = v }),
        [nameof(RetryOptions.Budget)] = Retries.Group(ReadBudget),
    };

    private static readonly Dictionary<string, Budgets.Reader> Budget = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(BudgetSettings.Ratio)] = Budgets.Number(static (o, v) => o.Ratio = v),
        [nameof(BudgetSettings.MinRetriesPerSecond)] = Budgets.Whole(static (o, v) => o.MinRetriesPerSecond = v),
        [nameof(BudgetSettings.Name)] = Budgets.Text(static (o, v) => o.Name = v),
    };

    private static readonly Dictionary<string, Circuit.Reader> Breaker = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(CircuitBreakerOptions.FailureThreshold)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { FailureThreshold = v }),
        [nameof(CircuitBreakerOptions.SuccessThreshold)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { SuccessThreshold = v }),
        [nameof(CircuitBreakerOptions.OpenTimeout)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { OpenTimeout = v }),
        [nameof(CircuitBreakerOptions.SamplingDuration)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { SamplingDuration = v }),
        [nameof(CircuitBreakerOptions.FailureRatio)] = Circuit.Number(static (o, v) => o.Value = o.Value! with { FailureRatio = v }),
        [nameof(CircuitBreakerOptions.SlowCallDuration)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { SlowCallDuration = v }),
        [nameof(CircuitBreakerOptions.SlowCallRatio)] = Circuit.Number(static (o, v) => o.Value = o.Value! with { SlowCallRatio = v }),
        [nameof(CircuitBreakerOptions.MaxCoolDown)] = Circuit.Time(static (o, v) => o.Value = o.Value! with { MaxCoolDown = v }),
        [nameof(CircuitBreakerOptions.Name)] = Circuit.Text(static (o, v) => o.Value = o.Value! with { Name = v }),
        [nameof(CircuitBreakerOptions.MinimumThroughput)] = Circuit.Whole(static (o, v) => o.Value = o.Value! with { MinimumThroughput = v }),
    };

    private static readonly Dictionary<string, Tokens.Reader> Rate = new(StringComparer.OrdinalIgnoreCase)
    {
        [nameof(RateLimitOptions.TokensPerSecond)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { TokensPerSecond = v }),
        [nameof(RateLimitOptions.BurstCapacity)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { BurstCapacity = v }),
        [nameof(RateLimitOptions.Name)] = Tokens.Text(static (o, v) => o.Value = o.Value! with { Name = v }),
        [nameof(RateLimitOptions.TokensPerOperation)] = Tokens.Number(static (o, v) => o.Value = o.Value! with { TokensPerOperation = v }),
    };

    public static string? Read(WeirWorkerOptions options, IConfigurationSection section)
    {
        StrongBox<ParallelRunOptions> read = new(options.Policies ?? new ParallelRunOptions());
        string? problem = Policy.ReadAll(read, section, Policies, "the policies of a worker");
        options.Policies = read.Value;
        return problem;
    }

    private static string? ReadRetry(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        StrongBox<RetryOptions> read = new(policies.Value!.Retry ?? new RetryOptions());
        string? problem = Retries.ReadAll(read, section, Retry, "retries");
        policies.Value = policies.Value with { Retry = read.Value };
        return problem;
    }

    private static string? ReadBudget(StrongBox<RetryOptions> retry, IConfigurationSection section)
    {
        if (retry.Value!.Budget is not null)
        {
            return IsShared(section);
        }

        BudgetSettings read = new();
        return Budgets.ReadAll(read, section, Budget, "a retry budget") ?? OptionsCheck.ProblemOf(
            section.Path, () => retry.Value = retry.Value with { Budget = new RetryBudget(read.Ratio, read.MinRetriesPerSecond) { Name = read.Name } });
    }

    private static string? ReadBreaker(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        if (policies.Value!.CircuitBreaker is { IsShared: true })
        {
            return IsShared(section);
        }

        StrongBox<CircuitBreakerOptions> read = new(policies.Value.CircuitBreaker ?? new CircuitBreakerOptions());
        string? problem = Circuit.ReadAll(read, section, Breaker, "a circuit breaker");
        policies.Value = policies.Value with { CircuitBreaker = read.Value };
        return problem;
    }

    private static string? ReadRate(StrongBox<ParallelRunOptions> policies, IConfigurationSection section)
    {
        if (policies.Value!.RateLimit is { IsShared: true })
        {
            return IsShared(section);
        }

        StrongBox<RateLimitOptions> read = new(policies.Value.RateLimit ?? new RateLimitOptions());
        string? problem = Tokens.ReadAll(read, section, Rate, "a rate limit");
        policies.Value = policies.Value with { RateLimit = read.Value };
        return problem;
    }

    private static string IsShared(IConfigurationSection section) => $"{section.Path} is set, and code sets one that is shared; set only one of them.";
}

/// <summary>What the configuration says of a retry budget, with its defaults.</summary>
internal sealed class BudgetSettings
{
    public double Ratio { get; set; } = new RetryBudget().Ratio;

    public int MinRetriesPerSecond { get; set; } = new RetryBudget().MinRetriesPerSecond;

    public string? Name { get; set; }
}

/// <summary>Makes the runtime of a worker from its options.</summary>
internal static class WorkerRuntimes
{
    private const int UsualConcurrency = 16;

    public static IExecutionRuntime Make(WeirWorkerOptions options, TimeProvider clock)
    {
        RuntimeOptions all = OptionsOf(options, clock);
        int? most = options.MaxConcurrency;
        return options.Runtime switch
        {
            WorkerRuntime.Parallel => new ParallelRuntime(most, all),
            WorkerRuntime.Auto => new AutoRuntime(most ?? 200, options: all),
            WorkerRuntime.Direct => new DirectRuntime(all),
            _ => new ConcurrentRuntime(most ?? UsualConcurrency, all),
        };
    }

    public static RuntimeOptions OptionsOf(WeirWorkerOptions options, TimeProvider clock) => new()
    {
        // An item that still runs when the host has ended ignores its token.
        GracePeriod = TimeSpan.Zero,
        TimeProvider = clock,
        Policies = options.Policies,
        TotalConcurrency = options.Policies?.ConcurrencyLimit is not null ? null : options.Runtime switch
        {
            // The limit of the parallel runtime is its threads, and the direct one runs a single item.
            WorkerRuntime.Parallel or WorkerRuntime.Direct => null,
            WorkerRuntime.Auto => options.MaxConcurrency,
            _ => options.MaxConcurrency ?? UsualConcurrency,
        },
    };
}
