using System.Collections.Concurrent;
using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Says of each failed call what the test wants, and notes it.</summary>
internal sealed class ScriptedRecovery(Func<FailedCall, Recovery<int>> decide) : IRecovery<int>
{
    private readonly ConcurrentQueue<FailedCall> _calls = [];

    public IReadOnlyList<FailedCall> Calls => [.. _calls];

    public TimeSpan? AttemptTimeout { get; init; }

    public Exception AttemptTimedOut(int attempt) => new OperationCanceledException($"attempt {attempt}", new TimeoutException());

    public ValueTask<Recovery<int>> DecideAsync(FailedCall call)
    {
        _calls.Enqueue(call);
        return new ValueTask<Recovery<int>>(decide(call));
    }
}
