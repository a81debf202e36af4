using Weir.Core.Dispatch;
using Weir.Operators;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>The user's selector inside the run's policies and hooks.</summary>
internal readonly struct PolicyCall<TItem, TResult>(Func<TItem, CancellationToken, ValueTask<TResult>> selector, CallPolicies policies, TimeoutPolicy<TResult>? attemptTimeout)
    : ICall<TItem, PendingResult<TResult>>
{
    public PendingResult<TResult> Invoke(TItem item, long index, bool isFirst, CancellationToken cancellationToken) =>
        new(policies.InvokeAsync(selector, attemptTimeout, item, Indices.ToInt(index), isFirst, cancellationToken));
}
