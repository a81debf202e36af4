using Weir.Core.Sinks;

namespace Weir.Operators;

/// <summary>A cold stream: each enumeration is a separate run, which starts at its first step.</summary>
internal sealed class PumpStream<TResult>(
    int limit, int capacity, bool ordered, Func<StreamOutput<TResult>, CancellationToken, IRunHandle> start, CancellationToken callToken)
    : IAsyncEnumerable<TResult>
{
    public IAsyncEnumerator<TResult> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        Func<StreamOutput<TResult>, IRunHandle> startRun = output => start(output, cancellationToken);
        return ordered
            ? new OrderedOutput<TResult>(limit, capacity, startRun) { CallToken = callToken, EnumerationToken = cancellationToken }
            : new UnorderedOutput<TResult>(limit, capacity, startRun) { CallToken = callToken, EnumerationToken = cancellationToken };
    }
}
