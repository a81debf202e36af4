namespace Weir.Lab.ColdStart;

/// <summary>One way to do a kind of work, measured in processes of its own.</summary>
/// <param name="Work">The kind of work: a table of the page.</param>
/// <param name="Name">The arm.</param>
/// <param name="Call">The call, which gives the sum of the results.</param>
/// <param name="Kind">What it is among the others of its work.</param>
internal sealed record ColdArm(string Work, string Name, Func<Task<long>> Call, ColdKind Kind = ColdKind.Ours)
{
    /// <summary>The arm's name among all.</summary>
    public string Key => $"{Work}/{Name}";
}
