using System.Globalization;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using Weir.Resilience;

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

    /// <summary>The grace period of a worker: what its options say, or what leaves time to return items within the host's own limit.</summary>
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
    private static string? ProblemOf(string path, Action check)
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
