using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using Weir.Operators;
using Weir.Policies;
using Weir.Resilience;

namespace Weir.Runtimes;

/// <summary>The policies around the items of a runtime's calls: options of an operator, of which only those that concern an item are used.</summary>
[SuppressMessage("Usage", "CA2208:Instantiate argument exceptions correctly", Justification = "Wrong options are named after their property.")]
internal sealed class RuntimePolicies
{
    private readonly RuntimeOptions _options;
    private readonly ParallelRunOptions? _own;

    public RuntimePolicies(RuntimeOptions options)
    {
        _options = options;
        Limit = options.MakeLimit();
        if (options.Policies is { } policies)
        {
            // All calls of the runtime share them.
            _own = Adapted(policies with
            {
                CircuitBreaker = PolicySettings.Made(policies.CircuitBreaker, options.TimeProvider),
                RateLimit = PolicySettings.Made(policies.RateLimit, options.TimeProvider),
            });
        }
        else if (Limit is not null)
        {
            _own = Adapted(ParallelRunOptions.Default);
        }
    }

    /// <summary>The limit over all calls of the runtime, or null.</summary>
    public SharedConcurrencyLimit? Limit { get; }

    /// <summary>Whether a call has policies besides <see cref="Limit"/>.</summary>
    public bool AreSet(ProcessManyOptions options) => options.Policies is not null || _options.Policies is not null;

    /// <summary>The policies of a call, with the limit; null if there are none.</summary>
    /// <exception cref="ArgumentException">They are not those of the call's items or results, or there are two concurrency limits.</exception>
    public ParallelRunOptions? Of<TItem, TResult>(ProcessManyOptions options)
    {
        RefuseTwoLimits(options.Policies, Limit);
        ParallelRunOptions? policies = options.Policies is { } own ? Adapted(own) : _own;
        if (policies is not null)
        {
            OperatorRun.CheckTypes<TItem, TResult>(policies);
        }

        return policies;
    }

    /// <summary>Checks policies, if there are any.</summary>
    /// <exception cref="ArgumentOutOfRangeException">A value is out of range.</exception>
    /// <exception cref="ArgumentException">An option concerns a run, and not its items.</exception>
    [StackTraceHidden]
    public static void Validate(ParallelRunOptions? policies)
    {
        if (policies is null)
        {
            return;
        }

        policies.Validate();
        Refuse(policies.AdaptiveConcurrency, nameof(policies.AdaptiveConcurrency));
        Refuse(policies.Control, nameof(policies.Control));
    }

    /// <exception cref="ArgumentException">The runtime has a limit over all calls, and the policies have another.</exception>
    [StackTraceHidden]
    public static void RefuseTwoLimits(ParallelRunOptions? policies, object? limit)
    {
        if (limit is not null && policies is { ConcurrencyLimit: not null })
        {
            throw new ArgumentException(
                "The runtime has a TotalConcurrency or ConcurrencyLimit, so its Policies cannot have a concurrency limit too.",
                nameof(policies.ConcurrencyLimit));
        }
    }

    [StackTraceHidden]
    private static void Refuse(object? value, string property)
    {
        if (value is not null)
        {
            throw new ArgumentException($"{property} must be null in the Policies of a runtime: it concerns a run, and not an item.", property);
        }
    }

    private ParallelRunOptions Adapted(ParallelRunOptions policies) => policies with
    {
        TimeProvider = _options.TimeProvider,
        ConcurrencyLimit = Limit ?? policies.ConcurrencyLimit,
        Output = policies.Output.IncludeDetails ? policies.Output with { IncludeDetails = false } : policies.Output,
    };
}
