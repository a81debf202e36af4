using System.Globalization;
using System.Text;

namespace Weir.Site.Pictures;

/// <summary>
/// A terminal in memory: what it shows after what was written to it. It knows the codes that bars and lists use, and fails at any other, so that nothing is
/// written that nobody has looked at.
/// </summary>
/// <param name="width">Its width in cells.</param>
/// <param name="height">Its height in lines.</param>
public sealed class TerminalScreen(int width, int height) : StringWriter(CultureInfo.InvariantCulture)
{
    private readonly List<Cell[]> _lines = [NewLineOf(width)];
    private int _width = width;
    private int _x;
    private int _y;
    private string _style = "";
    private string _pending = "";
    private bool _wraps = true;

    /// <summary>Its width in cells.</summary>
    public int Columns => _width;

    /// <summary>Its height in lines.</summary>
    public int Rows => height;

    /// <summary>Whether the cursor is shown.</summary>
    public bool HasCursor { get; private set; } = true;

    /// <summary>Whether it shows the screen that programs have for themselves.</summary>
    public bool IsAlternate { get; private set; }

    /// <summary>Whether the cursor stands at the start of a line that is empty.</summary>
    public bool IsAtEmptyLine => _x == 0 && Text(_lines[_y]).Length == 0;

    /// <summary>Whether a line goes on in the next one at the edge, as terminals do by default.</summary>
    public bool Wraps => _wraps;

    /// <summary>All lines that were ever shown, without spaces at their ends and empty lines at the end.</summary>
    public string[] Lines
    {
        get
        {
            string[] lines = [.. _lines.Select(Text)];
            return lines[..(Array.FindLastIndex(lines, static line => line.Length > 0) + 1)];
        }
    }

    /// <summary>The lines as runs of one style each: the numbers of its code, such as <c>32</c> for green.</summary>
    public IReadOnlyList<(string Text, string Style)>[] Styled => [.. _lines.Select(Runs)];

    /// <summary>All that was written.</summary>
    public string Written => ToString();

    /// <summary>Makes the window narrower. Lines that do not fit are broken, as most terminals do it.</summary>
    public void Narrow(int columns)
    {
        List<Cell[]> broken = [];
        for (int y = 0; y < _lines.Count; y++)
        {
            if (y == _y)
            {
                _y = broken.Count;
            }

            int used = Array.FindLastIndex(_lines[y], static cell => cell.Text is not " ") + 1;
            for (int at = 0; at == 0 || at < used; at += columns)
            {
                Cell[] line = NewLineOf(columns);
                Array.Copy(_lines[y], at, line, 0, Math.Min(columns, _width - at));
                broken.Add(line);
            }
        }

        _lines.Clear();
        _lines.AddRange(broken);
        _width = columns;
    }

    public override void Write(char value) => Write([value]);

    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count));

    public override void Write(string? value) => Write(value.AsSpan());

    public override void Write(ReadOnlySpan<char> buffer)
    {
        base.Write(buffer.ToArray(), 0, buffer.Length);
        string text = _pending + buffer.ToString();
        _pending = "";
        for (int at = 0; at < text.Length;)
        {
            if (text[at] == '\e')
            {
                int end = at + 2;
                while (end < text.Length && !char.IsAsciiLetter(text[end]))
                {
                    end++;
                }

                if (end >= text.Length)
                {
                    _pending = text[at..];
                    return;
                }

                Obey(text[(at + 1)..(end + 1)]);
                at = end + 1;
            }
            else
            {
                Rune.DecodeFromUtf16(text.AsSpan(at), out Rune rune, out int length);
                Put(rune);
                at += length;
            }
        }
    }

    private static Cell[] NewLineOf(int width) => [.. Enumerable.Repeat(new Cell(" ", ""), width)];

    private static string Text(Cell[] line) => string.Concat(line.Select(static cell => cell.Text)).TrimEnd();

    private static List<(string, string)> Runs(Cell[] line)
    {
        List<(string Text, string Style)> runs = [];
        foreach (Cell cell in line)
        {
            if (runs.Count > 0 && runs[^1].Style == cell.Style)
            {
                runs[^1] = (runs[^1].Text + cell.Text, cell.Style);
            }
            else
            {
                runs.Add((cell.Text, cell.Style));
            }
        }

        return runs;
    }

    private static int WidthOf(Rune rune) => rune.Value is (>= 0x1100 and <= 0x115F) or (>= 0x2E80 and <= 0xA4CF) or (>= 0xAC00 and <= 0xD7A3)
        or (>= 0xF900 and <= 0xFAFF) or (>= 0xFE30 and <= 0xFE6F) or (>= 0xFF00 and <= 0xFF60) or (>= 0x1F300 and <= 0x1FAFF) ? 2 : 1;

    private void Put(Rune rune)
    {
        switch (rune.Value)
        {
            case '\r':
                _x = 0;
                break;
            case '\n':
                // A terminal adds the return.
                _x = 0;
                Down();
                break;
            case < ' ':
                throw new InvalidOperationException($"The terminal does not know the control character {rune.Value}.");
            default:
                int cells = WidthOf(rune);
                if (_x + cells > _width)
                {
                    if (!_wraps)
                    {
                        return;
                    }

                    _x = 0;
                    Down();
                }

                _lines[_y][_x] = new Cell(rune.ToString(), _style);
                if (cells == 2)
                {
                    _lines[_y][_x + 1] = new Cell("", _style);
                }

                _x += cells;
                break;
        }
    }

    private void Down()
    {
        _y++;
        if (_y == _lines.Count)
        {
            _lines.Add(NewLineOf(_width));
        }
    }

    private void Obey(string code)
    {
        int Number() => code.Length == 2 ? 1 : int.Parse(code[1..^1], CultureInfo.InvariantCulture);
        switch (code)
        {
            case "[?25l" or "[?25h":
                HasCursor = code[^1] == 'h';
                break;
            case "[?7l" or "[?7h":
                _wraps = code[^1] == 'h';
                break;
            case "[?1049h" or "[?1049l":
                IsAlternate = code[^1] == 'h';
                break;
            case "[K":
                Array.Fill(_lines[_y], new Cell(" ", ""), Math.Min(_x, _width), Math.Max(0, _width - _x));
                break;
            case "[J" or "[0J":
                Array.Fill(_lines[_y], new Cell(" ", ""), Math.Min(_x, _width), Math.Max(0, _width - _x));
                _lines.RemoveRange(_y + 1, _lines.Count - _y - 1);
                break;
            case "[H":
                _x = 0;
                _y = 0;
                break;
            case [.., 'A']:
                // No further than the top of the window.
                _y = Math.Max(Math.Max(0, _lines.Count - height), _y - Number());
                break;
            case [.., 'm']:
                _style = code is "[0m" or "[m" ? "" : code[1..^1];
                break;
            default:
                throw new InvalidOperationException($"The terminal does not know the code {code}.");
        }
    }

    private readonly record struct Cell(string Text, string Style);
}
