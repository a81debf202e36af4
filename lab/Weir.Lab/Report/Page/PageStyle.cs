namespace Weir.Lab.Report.Page;

/// <summary>How the page looks: light and dark, on a screen, a phone and paper. All text has a contrast of at least 4.5 to 1.</summary>
internal static class PageStyle
{
    public const string Css = """
        :root{--bg:#fcfcfa;--card:#fff;--text:#1c2430;--quiet:#566072;--line:#d9dde3;--grid:#e8ebef;--link:#0b5cad;
        --good:#0a6b3d;--goodbg:#ddf3e6;--bad:#a3161b;--badbg:#fbe1e1;--doubt:#7a4b00;--doubtbg:#fdeecb;--plainbg:#e8ebef;
        --c0:#1f6fb2;--c1:#c2500a;--c2:#2a8a4a;--c3:#9b3fa6;--c4:#ad2f3c;--c5:#0f7f86;--c6:#77650c;--c7:#5a5f6b}
        @media (prefers-color-scheme:dark){:root{--bg:#12161c;--card:#191f27;--text:#e4e8ee;--quiet:#a3adbb;--line:#343d4a;--grid:#28303a;--link:#7db8f0;
        --good:#7fdcaa;--goodbg:#12392a;--bad:#ff9c9c;--badbg:#451d20;--doubt:#f3c56b;--doubtbg:#3d2f10;--plainbg:#2a323d;
        --c0:#6cb2ee;--c1:#f2995a;--c2:#6fcd8c;--c3:#d793e2;--c4:#f28b95;--c5:#5ecfd6;--c6:#d6c258;--c7:#aeb6c3}}
        *{box-sizing:border-box}
        html{-webkit-text-size-adjust:100%}
        body{margin:0;background:var(--bg);color:var(--text);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
        main{max-width:62rem;margin:0 auto;padding:1.25rem 1rem 4rem}
        h1,article>header h2{font-size:1.5rem;line-height:1.25;margin:.4rem 0 .6rem;overflow-wrap:anywhere;text-wrap:pretty}
        h2{font-size:1.2rem;margin:0 0 .75rem}
        h3{font-size:1.1rem;margin:0 0 .75rem}
        section,nav{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem 1.1rem;margin:0 0 1rem}
        article+article{margin-top:3rem}
        a{color:var(--link)}
        .skip{position:absolute;left:-99rem}
        .skip:focus{left:.5rem;top:.5rem;background:var(--card);padding:.5rem;z-index:1}
        .quiet{color:var(--quiet);font-size:.9rem;margin:.2rem 0 1rem;overflow-wrap:anywhere}
        .badges{margin:0 0 .5rem;display:flex;flex-wrap:wrap;gap:.4rem}
        .badge{padding:.1rem .65rem;border-radius:1rem;font-size:.85rem;font-weight:600;background:var(--plainbg)}
        .badge.good{background:var(--goodbg);color:var(--good)}
        .badge.bad{background:var(--badbg);color:var(--bad)}
        .badge.doubt{background:var(--doubtbg);color:var(--doubt)}
        .lead{font-size:1.05rem;line-height:1.45;margin:0 0 .7rem;overflow-wrap:anywhere}
        .findings{margin:.75rem 0 0;padding-left:0;list-style:none;font-size:.93rem}
        .findings li{padding:.35rem .7rem;border-left:4px solid var(--line);margin:.35rem 0;overflow-wrap:anywhere}
        .findings .doubt{border-color:var(--doubt)}
        .findings .invalid{border-color:var(--bad)}
        .scroll{overflow-x:auto}
        .scroll:focus-visible,pre:focus-visible{outline:2px solid var(--link);outline-offset:2px}
        table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;min-width:100%}
        caption{text-align:left;color:var(--quiet);padding:.3rem 0}
        th,td{padding:.3rem .6rem;text-align:left;white-space:nowrap;border-bottom:1px solid var(--grid)}
        thead th{color:var(--quiet);font-weight:600;border-bottom:1px solid var(--line);white-space:normal;vertical-align:bottom}
        tbody th{font-weight:600}
        .n{text-align:right}
        td.faster{color:var(--good);font-weight:600}
        td.slower{color:var(--bad);font-weight:600}
        td.inconclusive{color:var(--doubt);font-weight:600}
        td.equivalent{font-weight:600}
        figure{margin:0}
        figcaption{color:var(--quiet);font-size:.9rem;margin:.4rem 0 .6rem}
        .panel{margin:.6rem 0 0;font-weight:600;font-size:.9rem}
        .legend{list-style:none;margin:0 0 .4rem;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.9rem}
        .legend li{display:flex;align-items:center;gap:.4rem}
        .plot svg{display:block;max-width:100%;height:auto}
        .narrow{display:none}
        @media (max-width:640px){.wide{display:none}.narrow{display:block}main{padding:1rem .6rem 3rem}section,nav{padding:.8rem .7rem}h1,article>header h2{font-size:1.25rem}}
        details{border-top:1px solid var(--grid);padding-top:.5rem}
        summary{cursor:pointer;color:var(--link);font-size:.9rem}
        pre{overflow-x:auto;background:var(--bg);border:1px solid var(--line);border-radius:6px;padding:.6rem;font-size:.85rem;margin:.3rem 0 1rem}
        dl{margin:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.3rem 1.5rem;font-size:.9rem}
        dt{color:var(--quiet)}
        dd{margin:0;overflow-wrap:anywhere}
        svg text{fill:var(--quiet);font-size:12px;font-family:inherit}
        svg .title{fill:var(--text)}
        svg .label{fill:var(--text)}
        .grid{stroke:var(--grid)}
        .axis{stroke:var(--quiet)}
        .mark{stroke:var(--quiet);stroke-dasharray:4 3;fill:none}
        .line{fill:none;stroke:currentColor;stroke-width:1.8}
        .dashed{stroke-dasharray:6 4}
        .whisker{stroke:currentColor;fill:none;stroke-width:1.2}
        .thick{stroke-width:2}
        .ring{fill:none;stroke:currentColor;stroke-width:1.2;opacity:.75}
        .area{fill:currentColor;opacity:.14}
        .zone{fill:var(--plainbg)}
        .dot{fill:currentColor;stroke:var(--card)}
        .bar{fill:currentColor}
        .s0{color:var(--c0)}.s1{color:var(--c1)}.s2{color:var(--c2)}.s3{color:var(--c3)}
        .s4{color:var(--c4)}.s5{color:var(--c5)}.s6{color:var(--c6)}.s7{color:var(--c7)}
        .flame{margin:.6rem 0}
        .flame rect{fill:currentColor;fill-opacity:.3;stroke:var(--card);stroke-width:1}
        .flame text{fill:var(--text)}
        .flame g:hover>rect{fill-opacity:.55}
        @media print{body{background:#fff}section{break-inside:avoid}details{display:none}}

        """;
}
