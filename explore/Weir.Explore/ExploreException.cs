namespace Weir.Explore;

/// <summary>A search has found a schedule that fails, or cannot go on.</summary>
public sealed class ExploreException : Exception
{
    /// <summary>A search that cannot go on.</summary>
    /// <param name="message">Why.</param>
    public ExploreException(string message)
        : base(message)
    {
    }

    internal ExploreException(ExploreResult result)
        : base(result.Failure!.ToString(), result.Failure.Exception) => Result = result;

    /// <summary>The search that has found the failure; null if it could not go on.</summary>
    public ExploreResult? Result { get; }
}
