namespace Weir.Core.Sources;

/// <summary>A synchronous sequence that may block. It is advanced on a pool thread, so that the thread that waits for the step need not block.</summary>
internal sealed class OffloadedEnumerable<T>(IEnumerable<T> items) : IAsyncEnumerable<T>
{
    public IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default) => new Enumerator(items.GetEnumerator());

    private sealed class Enumerator(IEnumerator<T> inner) : IAsyncEnumerator<T>
    {
        public T Current => inner.Current;

        public ValueTask<bool> MoveNextAsync() => new(Task.Run(inner.MoveNext));

        public ValueTask DisposeAsync()
        {
            inner.Dispose();
            return default;
        }
    }
}
