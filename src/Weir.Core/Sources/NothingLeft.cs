namespace Weir.Core.Sources;

/// <summary>What is left of a source whose items all ran: one shared object, so that a search for gaps sees at once that there are none.</summary>
internal static class NothingLeft
{
    public static readonly IEnumerable<(long First, int Count)> Ranges = None();

    // Not an empty array, whose code is .NET's for a type that it does not know, and so compiled in every process.
    private static IEnumerable<(long First, int Count)> None()
    {
        yield break;
    }
}
