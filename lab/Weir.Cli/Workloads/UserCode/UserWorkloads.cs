namespace Weir.Cli.Workloads.UserCode;

/// <summary>Makes the workload of a user's code.</summary>
internal static class UserWorkloads
{
    /// <summary>Makes it. None of the user's code runs before its set-up.</summary>
    /// <param name="name">The name in reports.</param>
    /// <param name="assembly">The assembly.</param>
    /// <param name="names">The methods, or the class, by their names.</param>
    /// <param name="values">What is set of it, by name.</param>
    public static IWorkload Create(string name, UserAssembly assembly, IReadOnlyList<string> names, IReadOnlyDictionary<string, string> values)
    {
        UserMember[] members = [.. names.Select(assembly.Find)];
        return members is [{ Method: null } only] ? new ClassWorkload(name, only, values)
            : members.FirstOrDefault(static m => m.Method is null) is { } member
            ? throw new BadInputException($"--groups with --method is for methods; '{member.Name}' is a class, which gets the group of each worker itself.")
            : new MethodWorkload(name, members, values);
    }

    /// <summary>Short names for several members that differ all the same. A member that is there twice has the same one both times.</summary>
    public static IReadOnlyList<string> ShortNames(IReadOnlyList<string> names)
    {
        string[][] parts = [.. names.Select(static n => n.Split('.'))];
        int members = names.Distinct().Count();
        for (int count = 1; ; count++)
        {
            string[] ends = [.. parts.Select(p => string.Join('.', p.TakeLast(count)))];
            if (ends.Distinct().Count() == members || parts.All(p => p.Length <= count))
            {
                return ends;
            }
        }
    }
}
