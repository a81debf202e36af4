namespace Weir.Explore.Model;

/// <summary>What a value task is of.</summary>
internal static class Fields
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_obj")]
    public static extern ref object? Source(ref ValueTask task);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
    public static extern ref bool Captures(ref ValueTask task);
}

/// <summary>What a value task with a result is of.</summary>
internal static class Fields<TResult>
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_obj")]
    public static extern ref object? Source(ref ValueTask<TResult> task);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
    public static extern ref bool Captures(ref ValueTask<TResult> task);
}
