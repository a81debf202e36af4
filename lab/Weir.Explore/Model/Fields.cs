namespace Weir.Explore.Model;

/// <summary>Whether an awaiter of a value task goes on where it was.</summary>
internal static class Fields
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
    public static extern ref bool Captures(ref ValueTask task);
}

internal static class Fields<TResult>
{
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_continueOnCapturedContext")]
    public static extern ref bool Captures(ref ValueTask<TResult> task);
}
