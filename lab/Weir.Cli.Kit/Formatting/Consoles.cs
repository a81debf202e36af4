using Spectre.Console;

namespace Weir.Cli.Kit.Formatting;

/// <summary>Makes the consoles that tables and progress bars are drawn on: coloured and alive on a terminal, plain text anywhere else.</summary>
internal static class Consoles
{
    public static IAnsiConsole Create(TextWriter writer, bool isTerminal) => AnsiConsole.Create(new AnsiConsoleSettings
    {
        Out = new AnsiConsoleOutput(writer),
        Ansi = isTerminal ? AnsiSupport.Detect : AnsiSupport.No,
        ColorSystem = isTerminal ? ColorSystemSupport.Detect : ColorSystemSupport.NoColors,
        Interactive = isTerminal ? InteractionSupport.Detect : InteractionSupport.No,
    });

    /// <summary>Whether the terminal shows colours and the user wants them.</summary>
    public static bool HasColors(TextWriter terminal) =>
        Create(terminal, isTerminal: true).Profile.Capabilities is { Ansi: true, ColorSystem: not ColorSystem.NoColors };
}
