using System.Diagnostics.CodeAnalysis;

namespace Weir.Resilience;

// The calls themselves, which are the user's code.
public sealed partial class PolicyChain<TResult>
{
    /// <summary>The call of the first attempt. One that has succeeded has been reported to the breaker, and its task can be given to the caller.</summary>
    /// <remarks>
    /// A task that somebody has awaited before throws when it is asked, and so does the clock of a breaker. Here, such an exception is the attempt's. Anywhere
    /// else, the attempt would never give back its permit.
    /// </remarks>
    [SuppressMessage("Reliability", "CA2012:Use ValueTasks correctly", Justification = "Consumed once: here when it has succeeded, else by the caller.")]
    private ValueTask<TResult> CallFirst<TState>(
        Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CircuitTicket ticket, CancellationToken token, out bool succeeded)
    {
        try
        {
            ValueTask<TResult> pending = _limit is null ? call(state, token) : _limit.ExecuteAsync(call, state, token);
            succeeded = pending.IsCompletedSuccessfully && _shouldRetry is null;
            if (!succeeded)
            {
                return pending;
            }

            TResult result = pending.Result;
            _guard.Succeeded(ticket);
            return new ValueTask<TResult>(result);
        }
        catch (Exception exception)
        {
            succeeded = false;
            return ValueTask.FromException<TResult>(exception);
        }
    }

    // A call that throws before it returns a task is treated like one whose task failed.
    private ValueTask<TResult> Call<TState>(Func<TState, CancellationToken, ValueTask<TResult>> call, TState state, CancellationToken token)
    {
        try
        {
            return _limit is null ? call(state, token) : _limit.ExecuteAsync(call, state, token);
        }
        catch (Exception exception)
        {
            return ValueTask.FromException<TResult>(exception);
        }
    }
}
