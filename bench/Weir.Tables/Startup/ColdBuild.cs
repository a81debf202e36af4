namespace Weir.Tables.Startup;

/// <summary>One way to build the program of first calls.</summary>
/// <param name="Name">Its name on the page.</param>
/// <param name="Program">The program's assembly.</param>
internal sealed record ColdBuild(string Name, string Program)
{
    /// <summary>The name of an arm among those of all builds.</summary>
    public string KeyOf(string arm) => $"{Name}: {arm}";
}
