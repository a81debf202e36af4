using System.Reflection;

namespace Weir.Lab.Processes;

/// <summary>
/// The files beside a program. An installed command has machine code of its assemblies for each system, in folders below its own: .NET loads that, but what
/// starts a program or is copied to another machine is the file beside the program.
/// </summary>
internal static class BesideProgram
{
    /// <summary>The path of an assembly's file. An assembly that was loaded from elsewhere stays where it is.</summary>
    /// <param name="assembly">The assembly, which has a file.</param>
    /// <returns>The whole path.</returns>
    public static string FileOf(Assembly assembly) => FileOf(assembly.Location, AppContext.BaseDirectory);

    /// <summary>The same for a path.</summary>
    /// <param name="location">From where it was loaded.</param>
    /// <param name="program">The folder of the program, with a separator at its end.</param>
    /// <returns>The whole path.</returns>
    public static string FileOf(string location, string program) =>
        location.StartsWith(Path.Combine(program, "runtimes") + Path.DirectorySeparatorChar, StringComparison.Ordinal)
            ? Path.Combine(program, Path.GetFileName(location))
            : location;
}
