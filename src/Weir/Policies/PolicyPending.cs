using System.Diagnostics;
using System.Runtime.CompilerServices;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Resilience;

namespace Weir.Policies;

/// <summary>
/// A started call. When its result is taken, it reports its end to the run's policies, unless that has already been done. It is a struct rather than a state
/// machine, so a call that suspends costs the policies no allocation.
/// </summary>
internal struct PolicyPending<TResult> : IPending<TResult>
{
    private static readonly Task<TResult> NotBegun = Task.FromCanceled<TResult>(new CancellationToken(canceled: true));

    private ValueTask<TResult> _task;
    private CallPolicies? _policies;
    private readonly CircuitTicket _ticket;
    private readonly long _started;
    private readonly CancellationToken _cancellationToken;
    private readonly Task? _until;

    public PolicyPending(ValueTask<TResult> task) => _task = task;

    public PolicyPending(ValueTask<TResult> task, CallPolicies policies, CircuitTicket ticket, long started, CancellationToken cancellationToken)
    {
        _task = task;
        _policies = policies;
        _ticket = ticket;
        _started = started;
        _cancellationToken = cancellationToken;
    }

    /// <summary>A call that cannot begin, because its item waits for something else first.</summary>
    public PolicyPending(CallPolicies policies, Task until, WaitKind kind)
    {
        _task = new ValueTask<TResult>(NotBegun);
        _policies = policies;
        _until = until;

        // It has no start, and one more field would make every call larger.
        _started = (long)kind;
    }

    /// <summary>A call of the user that has not completed, or that has failed. If it cannot be waited for, that is reported to the policies here.</summary>
    public static PolicyPending<TResult> OfUser(ValueTask<TResult> task, CallPolicies policies, CircuitTicket ticket, CancellationToken cancellationToken)
    {
        try
        {
            return new(CallsBackOnce.Of(task), policies, ticket, 0, cancellationToken);
        }
        catch (Exception e)
        {
            policies.Failed(ticket, e, 0, cancellationToken);
            throw;
        }
    }

    public readonly Task? Until => _until;

    public readonly WaitKind WaitsFor => (WaitKind)_started;

    public readonly bool IsCompleted
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompleted;
    }

    public readonly bool IsCompletedSuccessfully
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _task.IsCompletedSuccessfully;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public readonly TResult GetResult() => _policies is null ? _task.GetAwaiter().GetResult() : Report(_policies);

    public readonly bool CanBeParked => false;

    public readonly Task AsTask() => throw new UnreachableException();

    public readonly TResult ResultOf(Task call) => throw new UnreachableException();

    /// <summary>The calls of the user are tasks already; the others are our own.</summary>
    public readonly void BecomeTask()
    {
    }

    public readonly void OnCompleted(Action continuation) => _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(continuation);

    /// <summary>Becomes a call that has ended and has been reported to the policies. Writes only the fields that record this.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Succeed(TResult result)
    {
        _task = new ValueTask<TResult>(result);
        _policies = null;
    }

    private readonly TResult Report(CallPolicies policies)
    {
        if (_until is not null)
        {
            throw new ItemWaitsException(policies.Places!, _until, WaitsFor);
        }

        TResult result;
        try
        {
            result = _task.GetAwaiter().GetResult();
        }
        catch (Exception e)
        {
            policies.Failed(_ticket, e, _started, _cancellationToken);
            throw;
        }

        policies.Succeeded(_ticket, _started, _cancellationToken);
        return result;
    }
}
