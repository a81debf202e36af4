using System.CommandLine;
using Weir.Lab.Suites.Verbs;
using Weir.Lab.Suites.Young;

namespace Weir.Lab.Suites;

/// <summary>The commands that measure Weir itself, for a program that has others beside them.</summary>
public static class SuiteCommands
{
    /// <summary>Makes the commands.</summary>
    /// <param name="output">Where tables and pages go.</param>
    /// <param name="errors">Where progress and errors go.</param>
    /// <returns><c>ratios</c>, <c>young</c>, <c>auto-table</c> and <c>selfcheck</c>.</returns>
    public static IReadOnlyList<Command> Create(TextWriter output, TextWriter errors) =>
    [
        RatiosCommand.Create(output, errors),
        YoungCommand.Create(output, errors),
        AutoTableCommand.Create(output, errors),
        SelfCheckCommand.Create(output, errors),
    ];

    /// <summary>
    /// Answers a process that <c>young</c> started for one measurement. To be asked first of all in the program's entry point: what has
    /// been compiled before is not measured.
    /// </summary>
    /// <param name="arguments">The program's arguments.</param>
    /// <returns>The exit code to end with; <see langword="null"/> for any other process.</returns>
    public static async Task<int?> MeasureYoungAsync(string[] arguments) =>
        arguments is [YoungRun.Verb, YoungRun.Arm, var arm] ? await YoungRun.MeasureHereAsync(arm, Console.Out, Console.Error) : null;
}
