namespace Weir;

/// <summary>A <see cref="Fallback"/> for results of one type.</summary>
internal sealed class TypedFallback<TResult>(Func<int, Exception, ValueTask<TResult>> result) : Fallback
{
    internal override Type ResultType => typeof(TResult);

    public ValueTask<TResult> GetAsync(int index, Exception error) => result(index, error);
}
