namespace Weir.Lab.Work;

/// <summary>Consumes unused results, so that the compiler cannot remove the work that produces them.</summary>
/// <remarks>Assigning to a discard does not do that. Nothing is written here, so that threads do not disturb each other.</remarks>
internal static class Sink
{
    /// <summary>Takes a result.</summary>
    /// <typeparam name="T">The type of the result. Values are not boxed.</typeparam>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Consume<T>(T value) => GC.KeepAlive(typeof(T).IsValueType ? null : value);
}
