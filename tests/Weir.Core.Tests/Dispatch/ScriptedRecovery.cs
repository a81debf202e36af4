using System.Collections.Concurrent;
using Weir.Core.Dispatch;

namespace Weir.Core.Tests.Dispatch;

/// <summary>Says of each failed call what the test wants, and notes it.</summary>
internal sealed class ScriptedRecovery(Func<FailedAttempt, Decision<int>> decide) : IRecovery<int>
{
    private readonly ConcurrentQueue<FailedAttempt> _calls = [];

    public IReadOnlyList<FailedAttempt> Calls => [.. _calls];

    public TimeSpan? AttemptTimeout { get; init; }

    public Exception AttemptTimedOut(int attempt) => new OperationCanceledException($"attempt {attempt}", new TimeoutException());

    public ValueTask<Decision<int>> DecideAsync(FailedAttempt call)
    {
        _calls.Enqueue(call);
        return new ValueTask<Decision<int>>(decide(call));
    }
}
