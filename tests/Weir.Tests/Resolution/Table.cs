using System.Collections;
using System.Linq.Expressions;

namespace Weir.Tests.Resolution;

/// <summary>A source that can be read both ways, as Entity Framework's <c>DbSet</c> can. Read synchronously it fails, so that a test sees it.</summary>
internal sealed class Table<T>(params T[] rows) : IQueryable<T>, IAsyncEnumerable<T>
{
    public Type ElementType => typeof(T);

    public Expression Expression => throw new NotSupportedException("No query was asked for.");

    public IQueryProvider Provider => throw new NotSupportedException("No query was asked for.");

    public async IAsyncEnumerator<T> GetAsyncEnumerator(CancellationToken cancellationToken = default)
    {
        foreach (T row in rows)
        {
            await Task.Yield();
            yield return row;
        }
    }

    public IEnumerator<T> GetEnumerator() => throw new NotSupportedException("Read synchronously.");

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
