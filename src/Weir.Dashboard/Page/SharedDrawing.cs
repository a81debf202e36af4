using System.Buffers;
using System.Text;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>
/// What all see who look at one address with one right. Each look is drawn once, whoever many see it, in turns into two pages whose memory is used again: the
/// new one is compared with the one before. Thread-safe.
/// </summary>
internal sealed class SharedDrawing
{
    private readonly Lock _lock = new();

    // Under the lock.
    private Drawn _now = new();
    private Drawn _before = new();
    private WeirSnapshot? _drawn;
    private long _versions;

    /// <summary>How many look. Under the lock of whoever counts them.</summary>
    public int Viewers { get; set; }

    /// <summary>
    /// Adds an event with all sections as they are at a look, of which those that the browser has are empty; or a comment if it has all of them, so that the
    /// server notices a browser that has gone. Texts are encoded, so that no line break of theirs ends the event.
    /// </summary>
    /// <param name="data">What is looked at.</param>
    /// <param name="has">The versions of the sections that the browser has, which become those of this event.</param>
    /// <param name="to">Memory of the caller: under the lock, nothing is written to a browser.</param>
    public void AddEvent(PageData data, List<long> has, IBufferWriter<byte> to)
    {
        lock (_lock)
        {
            if (!ReferenceEquals(_drawn, data.Now))
            {
                Draw(data);
            }

            if (_now.Versions.SequenceEqual(has))
            {
                to.Write(":\n\n"u8);
                return;
            }

            to.Write("data: "u8);
            for (int i = 0; i < _now.Versions.Count; i++)
            {
                if (has.Contains(_now.Versions[i]))
                {
                    to.Write("<section id=\""u8);
                    Encoding.ASCII.GetBytes(_now.Page.Sections[i].Id, to);
                    to.Write("\" data-same></section>"u8);
                }
                else
                {
                    to.Write(_now.HtmlOf(i));
                }
            }

            to.Write("\n\n"u8);
            has.Clear();
            has.AddRange(_now.Versions);
        }
    }

    private void Draw(PageData data)
    {
        (_now, _before) = (_before, _now);
        _drawn = null;
        _now.Page.Clear();
        _now.Versions.Clear();
        PageWriter.Live(_now.Page, data);
        for (int i = 0; i < _now.Page.Sections.Count; i++)
        {
            // A view has the same sections in the same order, and each begins with its id.
            _now.Versions.Add(i < _before.Versions.Count && _now.HtmlOf(i).SequenceEqual(_before.HtmlOf(i)) ? _before.Versions[i] : ++_versions);
        }

        _drawn = data.Now;
    }

    /// <summary>A page, and the version of each of its sections: what looks as it did before has the same one. A page whose drawing has failed has none.</summary>
    private sealed class Drawn
    {
        public Markup Page { get; } = new();

        public List<long> Versions { get; } = [];

        public ReadOnlySpan<byte> HtmlOf(int section)
        {
            IReadOnlyList<(string Id, int Start)> all = Page.Sections;
            return Page.Html.Span[all[section].Start..(section + 1 < all.Count ? all[section + 1].Start : Page.Html.Length)];
        }
    }
}
