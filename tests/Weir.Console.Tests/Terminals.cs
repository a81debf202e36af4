using System.Text;
using Spectre.Console;

namespace Weir.Bars.Tests;

/// <summary>Consoles over terminals in memory.</summary>
internal static class Terminals
{
    public static IAnsiConsole On(TextWriter writer, int width = 80, int height = 24, bool isTerminal = true, bool hasColors = false, bool isUnicode = true)
    {
        IAnsiConsole console = AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = isTerminal ? AnsiSupport.Yes : AnsiSupport.No,
            ColorSystem = hasColors ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
            Out = new Output(writer, width, height, isTerminal),
        });
        console.Profile.Capabilities.Unicode = isUnicode;
        return console;
    }

    public static IAnsiConsole On(TerminalScreen screen, bool hasColors = false, bool isUnicode = true) =>
        AnsiConsole.Create(new AnsiConsoleSettings
        {
            Ansi = AnsiSupport.Yes,
            ColorSystem = hasColors ? ColorSystemSupport.Standard : ColorSystemSupport.NoColors,
            Out = new ScreenOutput(screen),
        }).With(isUnicode);

    private static IAnsiConsole With(this IAnsiConsole console, bool isUnicode)
    {
        console.Profile.Capabilities.Unicode = isUnicode;
        return console;
    }

    private sealed class Output(TextWriter writer, int width, int height, bool isTerminal) : IAnsiConsoleOutput
    {
        public TextWriter Writer => writer;

        public bool IsTerminal => isTerminal;

        public int Width => width;

        public int Height => height;

        public void SetEncoding(Encoding encoding)
        {
        }
    }

    // Its width may change.
    private sealed class ScreenOutput(TerminalScreen screen) : IAnsiConsoleOutput
    {
        public TextWriter Writer => screen;

        public bool IsTerminal => true;

        public int Width => screen.Columns;

        public int Height => screen.Rows;

        public void SetEncoding(Encoding encoding)
        {
        }
    }
}
