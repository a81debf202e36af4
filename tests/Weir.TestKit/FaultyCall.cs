using System.Threading.Tasks.Sources;

namespace Weir.TestKit;

/// <summary>A started call whose task source breaks the contract: it calls back again, or throws although it calls back.</summary>
public sealed class FaultyCall(int result, FaultyCall.Fault fault) : IValueTaskSource<int>
{
    private readonly Lock _lock = new();
    private readonly List<(Action<object?> Continuation, object? State)> _continuations = [];
    private volatile bool _ended;

    public enum Fault
    {
        /// <summary>It calls back as often as it is told to.</summary>
        CallsBackAgain,

        /// <summary>It cannot be waited for, and calls back nevertheless.</summary>
        ThrowsAndCallsBack,

        /// <summary>The same, and it calls back before it throws.</summary>
        CallsBackAndThrows,
    }

    /// <summary>Whether its item fails.</summary>
    public bool Fails => fault != Fault.CallsBackAgain;

    public ValueTask<int> Start() => new(this, 0);

    /// <summary>Ends the call, if it has not ended, and calls back whoever has ever waited for it.</summary>
    public void CallBack()
    {
        (Action<object?> Continuation, object? State)[] all;
        lock (_lock)
        {
            all = [.. _continuations];
            _ended |= all.Length > 0;
        }

        foreach ((Action<object?> continuation, object? state) in all)
        {
            try
            {
                continuation(state);
            }
            catch (ArgumentOutOfRangeException)
            {
                // What the platform says to a task source that calls back again.
            }
        }
    }

    public int GetResult(short token) => result;

    public ValueTaskSourceStatus GetStatus(short token) => _ended ? ValueTaskSourceStatus.Succeeded : ValueTaskSourceStatus.Pending;

    public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        lock (_lock)
        {
            _continuations.Add((continuation, state));
        }

        if (fault == Fault.CallsBackAndThrows)
        {
            CallBack();
        }

        if (fault != Fault.CallsBackAgain)
        {
            throw new TestException("cannot wait");
        }
    }
}
