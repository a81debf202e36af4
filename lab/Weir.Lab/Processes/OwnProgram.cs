using System.Reflection;

namespace Weir.Lab.Processes;

/// <summary>Starts a program once more from within, so that what is measured there inherits no thread pool, no heap and no compiled code.</summary>
internal static class OwnProgram
{
    /// <summary>How to start it. Inside another program, such as a test, it is still the file beside its assembly.</summary>
    /// <param name="program">The assembly with the program's entry point.</param>
    /// <param name="arguments">The arguments.</param>
    /// <returns>What to start, without a shell.</returns>
    public static ProcessStartInfo StartInfo(Assembly program, IEnumerable<string> arguments)
    {
        string file = BesideProgram.FileOf(program);
        string own = Path.ChangeExtension(file, OperatingSystem.IsWindows() ? ".exe" : null)!;
        return File.Exists(own) ? new(own, arguments) : new("dotnet", [file, .. arguments]);
    }

    /// <summary>What runs it to its end. Its error output is that of this process.</summary>
    /// <param name="program">The assembly with the program's entry point.</param>
    /// <param name="arguments">The arguments.</param>
    /// <param name="cancellationToken">Kills it.</param>
    /// <returns>What starts it, and gives how it ended. It throws when it could not be started, and when it was killed.</returns>
    public static Func<Task<ChildEnd>> Start(Assembly program, IReadOnlyList<string> arguments, CancellationToken cancellationToken) =>
        () => ChildProgram.RunAsync(StartInfo(program, arguments), cancellationToken, keepsErrors: false);
}
