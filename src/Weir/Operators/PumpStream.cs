using Weir.Core.Sinks;

namespace Weir.Operators;

/// <summary>A cold stream: each enumeration is a separate run, which starts at its first step.</summary>
internal sealed class PumpStream<TResult>(
    int limit, int capacity, bool ordered, Func<StreamOutput<TResult>, CancellationToken, IRunHandle> start, CancellationToken callToken)
    : IAsyncEnumerable<TResult>
{
    /// <summary>Disposes of the results that a consumer leaves behind; null if that is not asked for.</summary>
    public UnusedResults<TResult>? Unused { get; init; }

    public IAsyncEnumerator<TResult> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        Func<StreamOutput<TResult>, IRunHandle> startRun = output => start(output, cancellationToken);
        return ordered
            ? new OrderedOutput<TResult>(limit, capacity, startRun) { CallToken = callToken, EnumerationToken = cancellationToken, Unused = Unused }
            : new UnorderedOutput<TResult>(limit, capacity, startRun) { CallToken = callToken, EnumerationToken = cancellationToken, Unused = Unused };
    }
}
